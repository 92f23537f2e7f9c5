//! GPM: the true mean between two samples, and what goes wrong with it.

use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};

use crate::machine::Machine;

pub(crate) fn metric(
    machine: &Machine,
    first: &GpmSample<'_>,
    second: &GpmSample<'_>,
    id: GpmMetricId,
) -> Result<f64, NvmlError> {
    let mut answers = gpm_metrics_get(&machine.nvml, first, second, &[id]).unwrap();
    answers.remove(0).map(|answer| answer.value)
}

#[test]
fn two_samples_a_minute_apart_give_the_mean_of_the_minute() {
    let machine = Machine::shipped("07_gpm.toml");
    let gpu = machine.gpu(0);
    assert!(gpu.gpm_support().unwrap());
    let first = gpu.gpm_sample().unwrap();
    machine.pass_s(25.0);
    let middle = gpu.gpm_sample().unwrap();
    machine.pass_s(34.9);
    let second = gpu.gpm_sample().unwrap();
    // On in 0..10, 20..30, 40..50: 30 s of 59.9 s, SMs at work in 90 % of it.
    let mean = metric(&machine, &first, &second, GpmMetricId::SmUtil).unwrap();
    assert!((mean - 30.0 / 59.9 * 90.0).abs() < 0.001, "{mean}");
    // On in 0..10 and 20..25: 15 s of 25 s.
    let mean = metric(&machine, &first, &middle, GpmMetricId::GraphicsUtil).unwrap();
    assert!((mean - 60.0).abs() < 0.001, "{mean}");
}

#[test]
fn a_metric_fails_alone() {
    let machine = Machine::shipped("07_gpm.toml");
    let first = machine.gpu(0).gpm_sample().unwrap();
    machine.pass_s(60.0);
    let second = machine.gpu(0).gpm_sample().unwrap();
    let read = |id| metric(&machine, &first, &second, id);
    assert!(read(GpmMetricId::SmUtil).unwrap().is_nan());
    assert!(matches!(read(GpmMetricId::DramBwUtil), Err(NvmlError::NotSupported)));
    assert_eq!(read(GpmMetricId::AnyTensorUtil).unwrap(), 250.0);
    assert!((read(GpmMetricId::GraphicsUtil).unwrap() - 50.0).abs() < 0.001);
}

#[test]
fn samples_too_close_give_no_number() {
    let machine = Machine::shipped("07_gpm.toml");
    let first = machine.gpu(0).gpm_sample().unwrap();
    machine.pass_s(0.05);
    let second = machine.gpu(0).gpm_sample().unwrap();
    assert!(metric(&machine, &first, &second, GpmMetricId::SmUtil).unwrap().is_nan());
}

#[test]
fn support_is_refused_by_a_code_or_by_the_product() {
    let machine = Machine::shipped("07_gpm.toml");
    assert!(matches!(machine.gpu(1).gpm_support(), Err(NvmlError::UnexpectedVariant(25))));
    assert!(!machine.gpu(2).gpm_support().unwrap());
    assert!(matches!(machine.gpu(2).gpm_sample(), Err(NvmlError::NotSupported)));
}
