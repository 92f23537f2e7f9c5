//! Process lists and memory.

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use crate::machine::Machine;

fn find(list: &[ProcessInfo], pid: u32) -> Option<UsedGpuMemory> {
    list.iter().find(|process| process.pid == pid).map(|process| process.used_gpu_memory.clone())
}

#[test]
fn a_process_of_both_kinds_is_in_both_lists_with_one_total() {
    let machine = Machine::shipped("04_lists.toml");
    let compute = machine.gpu(0).running_compute_processes().unwrap();
    let graphics = machine.gpu(0).running_graphics_processes().unwrap();
    let two_gib = || Some(UsedGpuMemory::Used(2 << 30));
    assert_eq!(find(&compute, 4401), two_gib());
    assert_eq!(find(&graphics, 4401), two_gib());
    assert_eq!(graphics.len(), 1);
    assert_eq!(find(&compute, 4403), Some(UsedGpuMemory::Unavailable));
    // On two GPUs: a row on each.
    assert!(find(&compute, 4402).is_some());
    assert!(find(&machine.gpu(1).running_compute_processes().unwrap(), 4402).is_some());
}

#[test]
fn pids_leave_come_back_and_are_translated_in_lists_before_they_are_in_rows() {
    let machine = Machine::shipped("04_lists.toml");
    let list = || machine.gpu(1).running_compute_processes().unwrap();
    assert!(find(&list(), 4405).is_some());
    assert!(find(&list(), 324).is_some());
    assert!(find(&list(), 4406).is_none());
    assert!(find(&list(), 4407).is_none(), "hidden");
    machine.pass_s(90.0);
    assert!(find(&list(), 4405).is_none());
    let rows = machine.gpu(1).process_utilization_stats(None).unwrap();
    assert!(rows.iter().any(|row| row.pid == 4406));
    machine.pass_s(20.0);
    assert!(find(&list(), 4405).is_some());
}

#[test]
fn used_memory_leaves_out_what_is_reserved() {
    let machine = Machine::shipped("01_idle.toml");
    let memory = machine.gpu(1).memory_info().unwrap();
    // 81559 MiB, of which a hundredth is reserved; one process holds 2 GiB.
    assert_eq!(memory.total, 81_559 << 20);
    assert_eq!(memory.reserved, (81_559 << 20) / 100);
    assert_eq!(memory.used, 2 << 30);
    assert_eq!(memory.free, memory.total - memory.reserved - memory.used);
}
