//! Every recorded Slurm output in `shared/samples/slurm`, read as a whole.

use std::path::PathBuf;

use gpuledger_scheduler::slurm::job_id::ArrayPart;
use gpuledger_scheduler::slurm::sacct_job::{Nodes, SacctEntry, SacctJob, tasks};
use gpuledger_scheduler::slurm::scontrol::{job, partition};
use gpuledger_scheduler::slurm::{gres, sacct_job, sacct_json, sacct_text, squeue};
use gpuledger_schema::state::RunState;

const ZONE: Option<chrono_tz::Tz> = Some(chrono_tz::America::New_York);

/// The sample, or nothing (and a word) where the shared folder is not there.
fn sample(name: &str) -> Option<Vec<u8>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("GPULEDGER_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("samples/slurm").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        println!("skipped: {} is not there", path.display());
    }
    bytes
}

fn text(name: &str) -> Option<String> {
    sample(name).map(|b| String::from_utf8(b).unwrap())
}

fn jobs(records: &[gpuledger_scheduler::slurm::sacct_record::SacctRecord]) -> (Vec<SacctJob>, usize) {
    let (mut out, mut steps) = (Vec::new(), 0);
    for record in records {
        match sacct_job::read(record, ZONE).unwrap() {
            SacctEntry::Step => steps += 1,
            SacctEntry::Job(job, ignored) => {
                assert_eq!(ignored, []);
                out.push(*job);
            }
        }
    }
    (out, steps)
}

#[test]
fn sacct_with_line_breaks_inside_fields() {
    let Some(bytes) = sample("sacct_multiline_fields.txt") else { return };
    let read = sacct_text::read(&bytes, None).unwrap().read;
    assert_eq!(read.problems, []);
    let lines: Vec<i64> = read.facts.iter().map(|r| r.line).collect();
    assert_eq!(lines, [2, 3, 4, 6, 8, 10]);
    let (jobs, steps) = jobs(&read.facts);
    assert_eq!(steps, 2, "200131.0 and 201729.batch");
    let shown: Vec<_> = jobs
        .iter()
        .map(|j| (j.job_raw.as_str(), j.state, j.granted.gpus.count, j.node_count, j.end_ms.zip(j.start_ms)))
        .map(|(id, s, g, n, t)| (id, s, g, n, t.map(|(e, s)| (e - s) / 1_000)))
        .collect();
    let requeued = ("201844", RunState::Requeued, 256, Some(32), Some(87_356));
    let failed = ("201729", RunState::Failed, 1_024, Some(128), Some(79_396));
    assert_eq!(shown, [failed, requeued, requeued, requeued]);
    let Nodes::Listed(_, nodes) = &jobs[0].nodes else { panic!("{:?}", jobs[0].nodes) };
    assert_eq!(nodes.len(), 128);
}

#[test]
fn sacct_json_of_22_05_and_23_02() {
    let Some(bytes) = sample("sacct_json.slurm_22_5_9.json") else { return };
    let read = sacct_json::read(&bytes).unwrap();
    assert_eq!((read.facts[0].line, read.problems.len()), (18, 0));
    let (jobs_22, _) = jobs(&read.facts);
    let j = &jobs_22[0];
    assert_eq!((j.job_raw.as_str(), j.id.array.clone()), ("20247445", Some(ArrayPart::Task(100))));
    assert_eq!((j.state, j.granted.gpus.count, j.node_count), (RunState::Failed, 16, Some(4)));
    assert_eq!(j.end_ms.unwrap() - j.start_ms.unwrap(), 124_403_000);
    assert_eq!(j.granted.mem_bytes, Some(262_144 << 20));
    assert_eq!(j.time_limit_ms, Some(2_880 * 60_000));
    let hosts = ["ng30103", "ng30203", "ng30706", "ng30707"].map(str::to_owned).to_vec();
    assert_eq!(j.nodes, Nodes::Listed("ng[30103,30203,30706-30707]".into(), hosts));

    let Some(bytes) = sample("sacct_json.slurm_23_2_6.json") else { return };
    let read = sacct_json::read(&bytes).unwrap();
    let (jobs_23, _) = jobs(&read.facts);
    let j = &jobs_23[0];
    assert_eq!((j.job_raw.as_str(), j.state, j.end_ms), ("4", RunState::Running, None));
    assert_eq!((j.granted.gpus.count, j.priority, j.user.as_deref()), (2, Some(499_522), Some("masterkohga")));
    assert_eq!((j.submit_ms, j.start_ms), (1_613_725_209_000, Some(1_613_725_209_000)));
    assert!(j.started());
}

#[test]
fn scontrol_jobs() {
    let Some(array) = text("scontrol_show_job_d.main_array_job.txt") else { return };
    let read = job::read(&array, ZONE);
    assert_eq!(read.problems, []);
    let lines: Vec<_> = read.facts.iter().map(|j| (j.line, j.job_raw.as_str())).collect();
    assert_eq!(lines, [(1, "30214"), (34, "31214")]);
    let first = &read.facts[0];
    assert_eq!((first.array_job.as_deref(), first.array.clone()), (Some("30185"), Some(ArrayPart::Waiting(32))));
    assert_eq!(first.granted.as_ref().unwrap().gpus.count, 8);
    assert_eq!(first.holdings[0].index, Some(vec![0, 1, 2, 3]));
    assert_eq!(first.mismatches, ["GRES counts 8 GPUs on node1751 and lists 4 indices"]);
    let told = ["GRES counts 8 GPUs on node1751 and lists 3 indices", "NumNodes is 3 and NodeList names 1"];
    assert_eq!(read.facts[1].mismatches, told);
    assert_eq!(read.facts[1].user.as_deref(), Some("test_username_2"));

    let some = job::read(&text("scontrol_show_job_d.some_gpus.txt").unwrap(), ZONE);
    assert_eq!(some.facts[0].array, Some(ArrayPart::Task(28)));

    let multi = job::read(&text("scontrol_show_job_d.multi_node.txt").unwrap(), ZONE);
    let j = &multi.facts[0];
    assert_eq!((j.granted.as_ref().unwrap().gpus.count, j.node_count), (64, Some(8)));
    assert_eq!((j.holdings[0].nodes.len(), j.holdings[0].gpus.model()), (8, Some("ampere")));
    assert_eq!(j.holdings[0].index.as_ref().unwrap().len(), 8);
    assert_eq!(j.mismatches, Vec::<String>::new());
    assert_eq!((j.end_ms, j.time_limit_ms), (None, Some(7 * 86_400_000)));

    let pending = job::read(&text("scontrol_show_job_o.pending_reqtres.txt").unwrap(), ZONE);
    assert_eq!(pending.problems, []);
    let shown: Vec<_> =
        pending.facts.iter().map(|j| (j.state, j.start_ms, j.asked.as_ref().map_or(0, |a| a.gpus.count))).collect();
    assert_eq!(shown, [(RunState::Pending, None, 1), (RunState::Pending, None, 0), (RunState::Pending, None, 1)]);
    assert!(pending.facts.iter().all(|j| j.granted.is_none() && j.nodes.is_none()));
}

#[test]
fn scontrol_partitions() {
    let Some(text) = text("scontrol_show_partition_o.billing_weights.txt") else { return };
    let read = partition::read(&text);
    assert_eq!(read.problems, []);
    let names: Vec<_> = read.facts.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["partition1", "partition2", "partition3"]);
    let first = &read.facts[0];
    assert_eq!(first.total.as_ref().unwrap().gpus.count, 22_384);
    assert_eq!(first.nodes.len(), 3_140);
    assert_eq!(first.weights[1].micros, 125_000);
    assert_eq!((read.facts[1].nodes.len(), read.facts[1].total.is_none()), (1_469, true));
}

#[test]
fn squeue_of_gcm() {
    let Some(text) = text("squeue_custom_format_gpu.txt") else { return };
    let read = squeue::read(&text, squeue::GCM_FIELDS, ZONE);
    assert_eq!(read.problems, []);
    let shown: Vec<_> = read
        .facts
        .iter()
        .map(|j| (j.job_raw.as_str(), tasks(&j.id), j.tres.gpus.count, j.nodes.len(), j.start_ms.is_some()))
        .collect();
    assert_eq!(
        shown,
        [
            ("45704744", 1, 2, 1, true),
            ("42953598", 1, 1, 1, true),
            ("42956774", 1, 256, 32, true),
            ("22783212", 1, 0, 0, false),
            ("42271120", 2, 160, 0, false),
        ]
    );
    assert_eq!(read.facts[2].asked_per_node.as_ref().unwrap().count, 8);
    assert_eq!(read.facts[0].asked_per_node, None);
    assert_eq!(read.facts[3].reason.as_deref(), Some("DependencyNeverSatisfied"));
    assert_eq!(read.facts[4].tres.mem_bytes, Some(1_374_926_405_632));
}

#[test]
fn gres_lines() {
    let Some(text) = text("gres_idx_lines.txt") else { return };
    let mut seen = Vec::new();
    for line in text.lines().map(str::trim).filter(|l| !l.starts_with('#')) {
        if line.starts_with("Nodes=") {
            let holding = job::holding_line(line).unwrap().unwrap();
            seen.push(format!("{}: {} {:?}", holding.nodes.join(","), holding.gpus.count, holding.index));
        } else if let Some((key, value)) = line.split_once('=') {
            let list = gres::gres(value, gres::Form::Granted).unwrap();
            seen.push(format!("{key}: {}", gres::gpus(&list).unwrap().count));
        }
    }
    let expected = ["node-64: 0 None", "JOB_GRES: 1", "gpu01: 1 Some([0])", "Gres: 8", "GresUsed: 8", "GresUsed: 0"];
    assert_eq!(seen, expected);
}
