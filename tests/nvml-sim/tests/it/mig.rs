//! MIG: what a cut GPU refuses, gaps, and handles that come to mean something else.

use nvml_wrapper::error::NvmlError;

use crate::machine::Machine;

#[test]
fn a_cut_a100_refuses_all_utilization_and_its_neighbour_does_not() {
    let machine = Machine::shipped("06a_mig_a100.toml");
    machine.pass_s(30.0);
    let gpu = machine.gpu(0);
    assert!(matches!(gpu.process_utilization_stats(None), Err(NvmlError::NotSupported)));
    assert!(matches!(gpu.utilization_rates(), Err(NvmlError::NotSupported)));
    assert!(matches!(gpu.accounting_pids(), Err(NvmlError::NotSupported)));
    assert!(matches!(gpu.gpm_mig_sample(3), Err(NvmlError::NotSupported)));
    assert_eq!(machine.gpu(1).process_utilization_stats(None).unwrap()[0].sm_util, 60);
}

#[test]
fn enumeration_has_gaps_and_leaves_out_instances_without_a_compute_instance() {
    let machine = Machine::shipped("06a_mig_a100.toml");
    let gpu = machine.gpu(0);
    assert_eq!(gpu.mig_device_count().unwrap(), 7);
    let there: Vec<u32> = (0..7).filter(|index| gpu.mig_device_by_index(*index).is_ok()).collect();
    assert_eq!(there, [0, 2]);
    assert!(matches!(gpu.mig_device_by_index(1), Err(NvmlError::NotFound)));
    let second = gpu.mig_device_by_index(2).unwrap();
    assert_eq!(second.memory_info().unwrap().used, 4 << 30);
    let list = second.running_compute_processes().unwrap();
    assert_eq!(list.iter().map(|process| process.pid).collect::<Vec<_>>(), [4602]);
    // The parent, asked with the rights of root, has all.
    assert_eq!(gpu.running_compute_processes().unwrap().len(), 2);
}

#[test]
fn a_handle_kept_over_a_reconfiguration_reads_another_instance() {
    let machine = Machine::shipped("06a_mig_a100.toml");
    let gpu = machine.gpu(0);
    let (first, second) = (gpu.mig_device_by_index(0).unwrap(), gpu.mig_device_by_index(2).unwrap());
    let before = first.uuid().unwrap();
    machine.pass_s(120.0);
    assert_ne!(first.uuid().unwrap(), before);
    assert_eq!(first.attributes().unwrap().multiprocessor_count, 56);
    assert!(matches!(second.uuid(), Err(NvmlError::InvalidArg)));
}

#[test]
fn gpm_of_an_instance_is_the_load_of_its_own_processes() {
    let machine = Machine::shipped("06b_mig_h100.toml");
    let gpu = machine.gpu(0);
    let means = |gi: u32| {
        let first = gpu.gpm_mig_sample(gi).unwrap();
        machine.pass_s(60.0);
        let second = gpu.gpm_mig_sample(gi).unwrap();
        crate::gpm::metric(&machine, &first, &second, nvml_wrapper::enums::gpm::GpmMetricId::SmUtil).unwrap()
    };
    // Busy 80 %, SMs at work in 90 % of that.
    assert!((means(1) - 72.0).abs() < 0.001);
    assert_eq!(means(2), 0.0);
    assert!(matches!(gpu.gpm_mig_sample(5), Err(NvmlError::NotFound)));
}
