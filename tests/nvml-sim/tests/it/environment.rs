//! What the environment says, and real processes of the machine.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use gpuledger_nvml_sim::library;
use gpuledger_nvml_sim::scenario::{Process, Who};
use nvml_wrapper::Nvml;

use crate::machine::{Control, Machine, shipped};

/// Runs [`as_a_program`] in a process of its own, with a scenario and a time file in its environment.
fn program(scenario: &Path, clock: &Path, calls: &Path) -> Output {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["environment::as_a_program", "--exact", "--nocapture"]);
    program.env("NVML_SIM_SCENARIO", scenario).env("NVML_SIM_CLOCK", clock).env("NVML_SIM_CALLS", calls);
    program.output().unwrap()
}

/// The program that other tests here run: without a scenario in its environment it is none of theirs.
#[test]
fn as_a_program() {
    if std::env::var_os("NVML_SIM_SCENARIO").is_none() {
        return;
    }
    let library = library::built().unwrap();
    let nvml = Nvml::builder().lib_path(library.as_os_str()).init().unwrap();
    let rows = nvml.device_by_index(0).unwrap().process_utilization_stats(None).unwrap();
    println!("pid {} sm {} at {}", rows[0].pid, rows[0].sm_util, rows[0].timestamp);
}

#[test]
fn a_program_takes_scenario_and_time_from_files_and_leaves_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, calls) = (folder.path().join("clock"), folder.path().join("calls"));
    std::fs::write(&clock, "1000000020000000 20000000").unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/12_isolation.toml");
    let output = program(&scenario, &clock, &calls);
    let text = String::from_utf8(output.stdout).unwrap();
    // 20 s is the end of the sample before.
    assert!(text.contains("pid 5201 sm 50 at 1000000020000000"), "{text}");
    let calls = std::fs::read_to_string(calls).unwrap();
    assert!(calls.contains("nvmlDeviceGetProcessUtilization 2\n"), "{calls}");
}

#[test]
fn a_bad_scenario_is_said_and_init_fails() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("bad.toml");
    std::fs::write(&scenario, "[[gpu]]\nmodell = 'h100'").unwrap();
    let output = program(&scenario, folder.path(), &folder.path().join("calls"));
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("bad.toml") && text.contains("modell"), "{text}");
}

fn sleeper() -> Child {
    Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_real_process_is_there_from_its_file_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child.pid");
    let mut scenario = shipped("12_isolation.toml");
    scenario.processes[0].who = Who::PidFile(file.clone());
    let machine = Machine::new(&scenario);
    let pids = || -> Vec<u32> {
        machine.pass_s(1.0);
        machine.gpu(0).running_compute_processes().unwrap().iter().map(|process| process.pid).collect()
    };
    assert_eq!(pids(), [0_u32; 0]);
    let child = sleeper();
    let pid = child.id();
    std::fs::write(&file, format!("{pid}\n")).unwrap();
    assert_eq!(pids(), [pid]);
    machine.pass_s(10.0);
    assert_eq!(machine.gpu(0).process_utilization_stats(None).unwrap()[0].pid, pid);
    end(child);
    assert_eq!(pids(), [0_u32; 0]);
}

#[test]
fn a_live_process_started_when_the_kernel_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child.pid");
    let mut scenario = shipped("demo.toml");
    scenario.processes = vec![Process { who: Who::PidFile(file.clone()), ..Process::constant(0, 0, 50.0) }];
    let control = Control::new(&scenario);
    let nvml = control.init().unwrap();
    let child = sleeper();
    std::fs::write(&file, child.id().to_string()).unwrap();
    let gpu = nvml.device_by_index(0).unwrap();
    let stats = loop {
        if let Ok(stats) = gpu.accounting_stats_for(child.id()) {
            break stats;
        }
        std::thread::yield_now();
    };
    let written = std::fs::metadata(&file).unwrap().modified().unwrap();
    let written_us = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64;
    let start_us = stats.start_time as i64;
    assert!((written_us - start_us).abs() < 2_000_000, "started {start_us}, its file was written {written_us}");
    end(child);
}
