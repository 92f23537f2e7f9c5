//! Whole looks, at commands that print what they are told.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;

/// A folder with `scontrol`, `squeue` and `sacct` that print files.
struct Told {
    folder: tempfile::TempDir,
}

const SACCT_HEAD: &str =
    "JobID|JobIDRaw|State|Submit|Eligible|Start|End|AllocTRES|ReqTRES|NodeList|NNodes|User|ExitCode|JobName\n";
const NODE: &str = "NodeName=n1 CPUTot=16\n   Gres=gpu:4\n   State=MIXED X=1\n   Partitions=gpu \n   CfgTRES=cpu=16,node=1,gres/gpu=4\n\n";
const NOW: i64 = 1_796_000_000_000;

impl Told {
    fn new() -> Self {
        let told = Self { folder: tempfile::tempdir().unwrap() };
        let at = told.folder.path().display();
        told.script("scontrol", &format!("cat {at}/${{@: -1}}"));
        told.script("squeue", &format!("cat {at}/squeue.out"));
        told.script(
            "sacct",
            &format!("echo \"$@\" >> {at}/asked; [ \"$1\" = --helpformat ] && {{ cat {at}/fields; exit; }}; cat {at}/sacct.out"),
        );
        told.put("fields", &SACCT_HEAD.replace('|', "  "));
        told.put("sacct.out", SACCT_HEAD);
        told.put("node", NODE);
        told.put("job", "No jobs in the system\n");
        told.put("squeue.out", "");
        told
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn script(&self, name: &str, body: &str) {
        self.put(name, &format!("#!/bin/bash\n{body}\n"));
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Jobs of `scontrol`, and their lines of `squeue`.
    fn jobs(&self, jobs: &[(&str, &str)]) {
        let text: String = jobs.iter().map(|(record, _)| format!("{record}\n")).collect();
        self.put("job", &text);
        self.put("squeue.out", &jobs.iter().map(|(_, line)| format!("{line}\n")).collect::<String>());
    }

    fn looker(&self) -> SlurmLooker {
        let [scontrol, squeue, sacct] = ["scontrol", "squeue", "sacct"].map(|n| self.path(n));
        let config = SlurmConfig { scontrol, squeue, sacct, deadline_s: 20, ..SlurmConfig::default() };
        SlurmLooker::new("c", &config)
    }

    async fn look(&self) -> Result<Snapshot, String> {
        self.looker().look(NOW, &Before::default()).await.map_err(|e| e.what)
    }
}

fn running(id: i64, name: &str) -> (String, String) {
    let record = format!(
        "JobId={id} JobName={name}\n   UserId=ann(1000) JobState=RUNNING\n   SubmitTime=1795998400 StartTime=1795998460 EndTime=1796002060\n   NodeList=n1 NumNodes=1\n   AllocTRES=cpu=1,node=1,gres/gpu=1\n     Nodes=n1 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:{})\n",
        id % 4
    );
    (record, format!("{id} RUNNING 1000 1795998400 1795998460 cpu=1,node=1,gres/gpu=1"))
}

fn raws(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.jobs.iter().map(|j| j.job_raw.as_str()).collect()
}

#[tokio::test]
async fn a_look_puts_controller_and_accounting_together() {
    let told = Told::new();
    let (a, b) = (running(7, "a"), running(8, "b"));
    told.jobs(&[(&a.0, &a.1), (&b.0, &b.1)]);
    // 8 ended between the two commands; 3 ended before
    told.put("sacct.out", &format!("{SACCT_HEAD}8|8|COMPLETED|1795998400|1795998400|1795998460|1795999999|cpu=1,gres/gpu=1,node=1|cpu=1,gres/gpu=1,node=1|n1|1|ann|0:0|b\n3|3|FAILED|1795990000|1795990000|1795990010|1795991000|cpu=1,gres/gpu=2,node=1|cpu=1,gres/gpu=2,node=1|n1|1|bob|1:0|x\n"));
    let mut looker = told.looker();
    let snapshot = looker.look(NOW, &Before::default()).await.unwrap();
    assert_eq!((snapshot.as_of_ms, snapshot.complete, snapshot.accounted_ms), (NOW, true, Some(NOW)));
    assert_eq!(raws(&snapshot), ["7", "8", "3"]);
    let runs: Vec<_> =
        snapshot.allocations.iter().map(|r| (r.job_raw.as_str(), r.state.as_str(), r.terminal)).collect();
    assert_eq!(runs, [("7", "RUNNING", false), ("8", "COMPLETED", true), ("3", "FAILED", true)]);
    let held: Vec<_> = snapshot.holdings.iter().map(|h| (h.evidence.as_str(), h.gres_index)).collect();
    assert_eq!(held, [("gres", Some(3)), ("gres", Some(0)), ("count", None)], "the controller names devices");
    assert_eq!((snapshot.nodes[0].state.as_str(), snapshot.offers[0].count), ("up", 4));
    assert_eq!((snapshot.refused.len(), snapshot.unread.len(), snapshot.failed.len()), (0, 0, 0));

    // the second look asks from the first on, with the overlap, and each command is run once a look
    let before = Before { accounted_ms: Some(NOW), ..Before::default() };
    looker.look(NOW + 60_000, &before).await.unwrap();
    let asked = std::fs::read_to_string(told.path("asked")).unwrap();
    let since: Vec<_> = asked.split_whitespace().filter_map(|w| w.strip_prefix("--starttime=")).collect();
    assert_eq!(since, ["2026-11-29T00:53:20", "2026-11-30T00:43:20"]);
    let counts =
        [("sacct", 2), ("sacct fields", 1), ("scontrol show job", 2), ("scontrol show node", 2), ("squeue", 2)];
    assert_eq!(looker.calls(), counts);
}

#[tokio::test]
async fn what_was_written_as_over_stays_unless_accounting_says_otherwise() {
    let told = Told::new();
    let (record, line) = running(7, "a");
    told.jobs(&[(&record.replace("RUNNING", "FAILED"), &line.replace("RUNNING", "FAILED"))]);
    let first = told.look().await.unwrap();
    assert_eq!((raws(&first), first.allocations[0].terminal), (vec!["7"], true));
    let done = HashSet::from([first.jobs[0].job_id, first.allocations[0].allocation_id]);
    let before = Before { done, ..Before::default() };
    let again = told.looker().look(NOW, &before).await.unwrap();
    assert_eq!((again.jobs.len(), again.allocations.len()), (0, 0));
}

#[tokio::test]
async fn accounting_that_fails_is_a_part_that_failed() {
    let told = Told::new();
    let (record, line) = running(7, "a");
    told.jobs(&[(&record, &line)]);
    told.script("sacct", "echo 'sacct: error: slurm_persist_conn_open: Connection refused' >&2; exit 1");
    let snapshot = told.look().await.unwrap();
    assert_eq!((raws(&snapshot), snapshot.accounted_ms, snapshot.complete), (vec!["7"], None, true));
    assert_eq!(snapshot.failed[0].0, "accounting");
    assert!(snapshot.failed[0].1.what.contains("Connection refused"));
    told.script("sacct", "echo JobID State");
    let snapshot = told.look().await.unwrap();
    assert_eq!(snapshot.failed[0].1.what, "sacct: this version has no field JobIDRaw, which is needed");
}

#[tokio::test]
async fn a_controller_that_fails_hangs_or_answers_by_half_gives_no_look() {
    let told = Told::new();
    let (record, line) = running(7, "a");
    told.jobs(&[(&record, &line)]);
    told.put("job", record.trim_end());
    let cut = told.look().await.unwrap_err();
    assert_eq!(cut, "scontrol show job: the answer is cut: its last line does not end");
    told.put("job", "JobId=7 JobName=a\n   UserId=ann(1000) Status=Running\n");
    let unknown = told.look().await.unwrap_err();
    assert_eq!(unknown, "scontrol show job: no record can be read: JobState: unknown Slurm job state ``");
    told.put("job", "No jobs in the system\n");
    told.put("node", "Node n1 is idle\n");
    let unknown = told.look().await.unwrap_err();
    assert!(
        unknown.starts_with("scontrol show node: no record can be read: the line belongs to no record"),
        "{unknown}"
    );
    told.script(
        "scontrol",
        "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
    );
    let away = told.look().await.unwrap_err();
    assert!(away.starts_with("scontrol show job: ended with code 1: slurm_load_jobs error"), "{away}");
}

#[tokio::test]
async fn records_that_users_wrote_into_their_names_are_refused() {
    let told = Told::new();
    let good = running(7, "a");
    // the name ends job 8 with few GPUs, and begins a record of somebody else's job
    let forged = "x\n   UserId=ann(1000) JobState=RUNNING\n   SubmitTime=1795998400 StartTime=1795998460\n   NodeList=n1 NumNodes=1\n   AllocTRES=cpu=1,node=1\n\nJobId=77 JobName=y";
    let (record, _) = running(8, forged);
    let line = "8 RUNNING 1000 1795998400 1795998460 cpu=1,node=1,gres/gpu=1".to_owned();
    told.jobs(&[(&good.0, &good.1), (&record, &line)]);
    let snapshot = told.look().await.unwrap();
    assert_eq!(raws(&snapshot), ["7"]);
    assert_eq!(snapshot.unread, HashSet::from(["8".to_owned()]), "8 is there, and nothing is concluded of it");
    let why: Vec<_> = snapshot.refused.iter().map(|r| r.reason.split(':').next().unwrap()).collect();
    assert_eq!(why, ["squeue knows other resources", "squeue knows no such job"]);
    assert!(snapshot.complete);
    // the same forgery a minute later is the same refusal
    let again = told.look().await.unwrap();
    let ids = |s: &Snapshot| s.refused.iter().map(|r| r.refusal_id).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&snapshot));
}

#[tokio::test]
async fn one_bad_record_costs_itself_only() {
    let told = Told::new();
    let (a, b) = (running(7, "a"), running(8, "b"));
    let bad = b.0.replace("gres/gpu=1", "gres/gp");
    told.jobs(&[(&bad, &b.1), (&a.0, &a.1)]);
    told.put("node", &format!("{NODE}{}", NODE.replace("n1", "n2").replace("MIXED", "DREAMING")));
    let snapshot = told.look().await.unwrap();
    assert_eq!(raws(&snapshot), ["7"]);
    let fields: Vec<_> = snapshot.refused.iter().map(|r| r.field.as_deref().unwrap_or_default()).collect();
    assert_eq!(fields, ["State", "AllocTRES"]);
    assert!(!snapshot.complete, "a node that cannot be read is not gone");
    assert_eq!(snapshot.nodes.len(), 1);
}

#[test]
fn every_sample_of_the_controller_gives_rows() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let folder = std::env::var_os("GPULEDGER_SHARED").map_or(beside, PathBuf::from).join("samples/slurm");
    if !folder.is_dir() {
        return println!("skipped: {} is not there", folder.display());
    }
    let mut shown = Vec::new();
    for name in ["main_array_job", "some_gpus", "multi_node"] {
        let text = std::fs::read_to_string(folder.join(format!("scontrol_show_job_d.{name}.txt"))).unwrap();
        for job in job::read(&text, Some(chrono_tz::UTC)).facts {
            let request = rows::job("c", &job, job.submit_ms.unwrap());
            let run = rows::allocation(&job, &request).unwrap();
            let held = rows::holdings(&job, &run, &SlurmConfig::default());
            let by = held.iter().map(|h| h.evidence.clone()).collect::<HashSet<_>>();
            shown.push((job.job_raw.clone(), run.gpu_count, held.len(), by.into_iter().collect::<Vec<_>>().join(",")));
            assert_eq!(held.iter().map(|h| h.share_units).sum::<i64>(), run.gpu_units, "{name}");
        }
    }
    let expected =
        [("30214", 8, 1, "count"), ("31214", 8, 1, "count"), ("30214", 8, 1, "count"), ("8401413", 64, 64, "gres")];
    let expected: Vec<_> = expected.map(|(id, n, rows, by)| (id.to_owned(), n, rows, by.to_owned())).to_vec();
    assert_eq!(shown, expected);
}
