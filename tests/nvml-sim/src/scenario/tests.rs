//! Scenarios that are read, and that are refused.

use super::*;

fn refusal(text: &str) -> String {
    Scenario::parse(text).unwrap_err().to_string()
}

#[test]
fn a_misspelt_key_is_refused_wherever_it_stands() {
    assert!(refusal("[[gpu]]\nmemry_bytes = 1").contains("memry_bytes"));
    assert!(refusal("[[fault]]\nwhat = { code = { cod = 3 } }").contains("cod"));
    assert!(refusal("[[fault]]\nwhat = 'lots'").contains("lots"));
    assert!(refusal("[clock]\nspeed = 2.0").contains("speed"));
}

#[test]
fn what_names_a_gpu_names_one_that_is_there() {
    let process = "[[process]]\nwho = { pid = 1 }\ngpus = [1]\n";
    assert!(refusal(&format!("[[gpu]]\n{process}")).contains("GPU 1"));
    assert!(Scenario::parse(&format!("[[gpu]]\n[[gpu]]\n{process}")).is_ok());
    assert!(refusal("[[gpu]]\n[[fault]]\ngpu = 2\nwhat = 'lost'").contains("GPU 2"));
}

#[test]
fn a_duty_that_never_ends_a_period_is_refused() {
    let duty = |sm: &str| refusal(&format!("[[gpu]]\n[[process]]\nwho = {{ pid = 1 }}\nsm = {sm}"));
    assert!(duty("{ square = { period_s = 0, on = 0.5, percent = 10 } }").contains("period"));
    assert!(duty("{ square = { period_s = 1, on = 1.5, percent = 10 } }").contains("1.5"));
    assert!(duty("{ noise = { low = 9, high = 2, step_s = 1, seed = 1 } }").contains("9..2"));
}

#[test]
fn a_scenario_written_in_code_reads_back_the_same() {
    let mut scenario = Scenario { gpus: vec![Gpu::default()], ..Scenario::default() };
    scenario.processes.push(Process::constant(4001, 0, 50.0));
    scenario.faults.push(Fault {
        gpu: Some(0),
        from_s: 60.0,
        to_s: None,
        times: Some(1),
        what: What::Hang { call: None, seconds: Some(20.0), everyone: false },
    });
    scenario.faults.push(Fault { gpu: None, from_s: 0.0, to_s: None, times: None, what: What::EnergyReset });
    let text = scenario.to_toml().unwrap();
    assert_eq!(Scenario::parse(&text).unwrap(), scenario);
}

#[test]
fn every_shipped_scenario_reads_and_says_what_it_is_for() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 20, "{}", files.len());
    for file in files {
        let scenario = Scenario::read(&file).unwrap();
        assert!(scenario.about.len() > 40, "{}", file.display());
    }
}

#[test]
fn pid_files_are_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, "[[gpu]]\n[[process]]\nwho = { pid_file = 'a.pid' }").unwrap();
    let scenario = Scenario::read(&file).unwrap();
    assert_eq!(scenario.processes[0].who, Who::PidFile(folder.path().join("a.pid")));
}
