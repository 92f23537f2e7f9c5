//! A real Slurm with real jobs: what the collector writes is what Slurm itself says.
//!
//! Needs `shared/slurm/slurm-up` and Slurm's daemons; where they are not, the tests say so and pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use gpuledger_collector::cluster::changes::{Change, Memory};
use gpuledger_collector::cluster::slurm::SlurmLooker;
use gpuledger_collector::cluster::slurm::config::SlurmConfig;
use gpuledger_collector::cluster::{LookError, Looker};
use gpuledger_schema::table::{AllocationRow, JobRow};

/// What is fetched of accounting to compare with.
const SACCT: &str = "--format=JobIDRaw,Start,End,State,NodeList";

/// A private Slurm; it ends with the test.
struct Slurm {
    folder: tempfile::TempDir,
    scripts: PathBuf,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new(self.scripts.join("slurm-down")).arg(self.folder.path()).output();
    }
}

impl Slurm {
    /// Starts one with two nodes of four GPUs, or says why not.
    fn start() -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
        let scripts = std::env::var_os("GPULEDGER_SHARED").map_or(beside, PathBuf::from).join("slurm");
        let has = |name: &str| {
            let paths = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&paths).chain(["/usr/sbin".into()]).any(|p| p.join(name).exists())
        };
        for (what, is_there) in [
            ("shared/slurm/slurm-up", scripts.join("slurm-up").exists()),
            ("slurmctld", has("slurmctld")),
            ("slurmdbd", has("slurmdbd")),
            ("mariadbd", has("mariadbd")),
            ("root", Path::new("/root").read_dir().is_ok()),
        ] {
            if !is_there {
                println!("skipped: {what} is not there");
                return None;
            }
        }
        let slurm = Self { folder: tempfile::tempdir().unwrap(), scripts };
        let base = 20_000 + std::process::id() % 10_000;
        let up = Command::new(slurm.scripts.join("slurm-up"))
            .arg(slurm.folder.path())
            .args(["2", "4"])
            .env("SLURM_PORT_BASE", base.to_string())
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        assert!(up.unwrap().success(), "slurm-up failed");
        Some(slurm)
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn run(&self, line: &str) -> String {
        let out = Command::new("bash")
            .args(["-c", line])
            .current_dir(self.folder.path())
            .env("SLURM_CONF", self.conf())
            .env("TZ", "UTC")
            .env("SLURM_TIME_FORMAT", "%s")
            .output()
            .unwrap();
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Submits a job; gives its id.
    fn submit(&self, arguments: &str) -> String {
        let id = self.run(&format!("sbatch --parsable --output=/dev/null {arguments}"));
        id.split(';').next().unwrap().to_owned()
    }

    /// Waits until a command prints a word.
    fn wait(&self, line: &str, word: &str) {
        let start = Instant::now();
        while !self.run(line).contains(word) {
            assert!(start.elapsed() < Duration::from_secs(240), "{line} does not print {word}: {}", self.run(line));
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// A collector without a disk: its looks, and the rows that they added.
struct Collector {
    looker: SlurmLooker,
    memory: Memory,
    changes: Vec<Change>,
}

impl Collector {
    fn new(slurm: &Slurm) -> Self {
        let config =
            SlurmConfig { conf: Some(slurm.conf()), accounting_back_h: 1, deadline_s: 60, ..SlurmConfig::default() };
        let looker = SlurmLooker::new("sim", &config);
        Self { looker, memory: Memory::new("slurm", "sim", now_ms()), changes: Vec::new() }
    }

    async fn look(&mut self) -> &Change {
        let now = now_ms();
        let look = self.looker.look(now, &self.memory.before()).await;
        self.take(now, look)
    }

    fn take(&mut self, now: i64, look: Result<gpuledger_collector::cluster::Snapshot, LookError>) -> &Change {
        let change = self.memory.change(now, look);
        self.memory.apply(&change);
        self.changes.push(change);
        self.changes.last().unwrap()
    }

    /// The newest row of each run: terminal beats running.
    fn runs(&self) -> BTreeMap<(String, i64), &AllocationRow> {
        let mut out: BTreeMap<(String, i64), &AllocationRow> = BTreeMap::new();
        for row in self.changes.iter().flat_map(|c| &c.allocations) {
            let key = (row.job_raw.clone(), row.start_ms / 1_000);
            if out.get(&key).is_none_or(|k| row.terminal || !k.terminal) {
                out.insert(key, row);
            }
        }
        out
    }

    /// The newest row of a request.
    fn job(&self, raw: &str) -> &JobRow {
        let rows = self.changes.iter().flat_map(|c| &c.jobs).filter(|j| j.job_raw == raw);
        rows.max_by_key(|j| (j.submit_ms, j.as_of_ms)).unwrap_or_else(|| panic!("no request {raw}"))
    }

    /// Evidence and index of what a job was seen to hold.
    fn held(&self, raw: &str) -> BTreeSet<(String, String, Option<i64>)> {
        let runs: BTreeSet<i64> = self.runs().values().filter(|r| r.job_raw == raw).map(|r| r.allocation_id).collect();
        let rows = self.changes.iter().flat_map(|c| &c.holdings).filter(|h| runs.contains(&h.allocation_id));
        rows.map(|h| (h.node.clone().unwrap_or_default(), h.evidence.clone(), h.gres_index)).collect()
    }
}

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// What `scontrol` says that a job holds: its nodes and indices.
fn indices(slurm: &Slurm, raw: &str) -> Vec<(String, String)> {
    // of a het job's leader all components are shown
    let text = slurm.run(&format!("scontrol -d show job {raw}"));
    let record = text.split("\n\n").find(|r| r.trim_start().starts_with(&format!("JobId={raw} "))).unwrap();
    let lines = record.lines().filter(|l| l.trim_start().starts_with("Nodes="));
    lines
        .filter_map(|l| {
            let node = l.trim_start().strip_prefix("Nodes=")?.split(' ').next()?.to_owned();
            Some((node, l.split("(IDX:").nth(1)?.split(')').next()?.to_owned()))
        })
        .collect()
}

#[tokio::test]
async fn what_is_written_is_what_slurm_says() {
    let Some(slurm) = Slurm::start() else { return };
    let mut collector = Collector::new(&slurm);
    let change = collector.look().await;
    assert!(change.readings.iter().all(|r| r.ok), "{:?}", change.readings);
    assert_eq!((change.nodes.len(), change.offers.len(), change.allocations.len()), (2, 2, 0));
    assert!(change.offers.iter().all(|o| o.resource == "gpu:h100" && o.count == 4));

    // only the backfill scheduler starts it, and soonest where nothing else waits
    let het = slurm.submit("-n1 --gres=gpu:1 : -n1 --gres=gpu:1 --wrap 'sleep 1200'");
    slurm.wait(&format!("squeue -h -j {het} -o %T"), "RUNNING");
    let long = slurm.submit("--gres=gpu:1 --time=30 --wrap 'sleep 1200'");
    let whole = slurm.submit("--gres=gpu:2 -J train-a --comment='type=train' --account=nlp --wrap 'sleep 1200'");
    let array = slurm.submit("--array=1-3%1 --gres=gpu:h100:1 --wrap 'sleep 1200'");
    let pause = slurm.submit("--gres=gpu:1 --wrap 'sleep 1200'");
    let held = slurm.submit("--hold --gpus=3 --wrap 'sleep 1'");
    let fails = slurm.submit("--gres=gpu:1 --wrap 'exit 3'");
    slurm.wait(&format!("sacct -X -n -P -j {fails} -o State"), "FAILED");
    slurm.wait(&format!("squeue -h -j {pause} -o %T"), "RUNNING");

    let change = collector.look().await;
    assert!(change.readings.iter().all(|r| r.ok), "{:?}", change.readings);
    assert_eq!(change.refused, []);
    let job = collector.job(&whole);
    assert_eq!((job.name.as_deref(), job.comment.as_deref()), (Some("train-a"), Some("type=train")));
    assert_eq!(
        (job.account.as_deref(), job.queue.as_deref(), job.state.as_str()),
        (Some("nlp"), Some("gpu"), "RUNNING")
    );
    let waits = collector.job(&held);
    assert_eq!((waits.pending_reason.as_deref(), waits.eligible_ms), (Some("JobHeldUser"), None));
    let waiting = collector.job(&array);
    assert_eq!((waiting.tasks, waiting.pending_reason.as_deref()), (2, Some("JobArrayTaskLimit")));
    assert_eq!(collector.job(&het).het_leader.as_deref(), Some(het.as_str()));
    for raw in [&long, &whole, &het] {
        let said = indices(&slurm, raw);
        assert!(!said.is_empty(), "{}", slurm.run(&format!("scontrol -d show job {raw}")));
        let expected = said.iter().flat_map(|(node, list)| {
            let (lo, hi) = list.split_once('-').unwrap_or((list, list));
            let span = lo.parse::<i64>().unwrap()..=hi.parse().unwrap();
            span.map(|i| (node.clone(), "gres".to_owned(), Some(i))).collect::<Vec<_>>()
        });
        assert_eq!(collector.held(raw), expected.collect(), "{raw}: {said:?}");
    }
    let failed = collector.runs().into_values().find(|r| r.job_raw == fails).unwrap();
    assert_eq!((failed.state.as_str(), failed.exit_code.as_deref(), failed.terminal), ("FAILED", Some("3:0"), true));
    // nothing changed: nothing is written but the reading
    let change = collector.look().await;
    assert_eq!((change.holdings.len(), change.nodes.len()), (0, 0), "{change:?}");
    assert!(change.allocations.iter().all(|a| a.job_raw == fails), "accounting may end its record late: {change:?}");

    // it has run for some time: the new limit is soon behind it
    slurm.run(&format!("scontrol update jobid={long} timelimit=1"));
    slurm.run(&format!("scontrol suspend {pause}"));
    slurm.run(&format!("scontrol requeue {whole}"));
    slurm.run(&format!("scancel {held}"));
    let node = slurm.run(&format!("squeue -h -j {long} -o %N"));
    slurm.run(&format!("scontrol update nodename={node} state=drain reason='dead fan'"));
    slurm.run(&format!("scancel {array}"));
    slurm.wait(&format!("sacct -X -D -n -P -j {whole} -o State"), "REQUEUED");
    slurm.wait(&format!("sacct -X -n -P -j {held} -o State"), "CANCELLED");
    std::thread::sleep(Duration::from_secs(1));
    let change = collector.look().await.clone();
    assert!(change.readings.iter().all(|r| r.ok), "{:?}", change.readings);
    let states: Vec<_> = change.nodes.iter().map(|n| (n.node.clone(), n.state.as_str(), n.to_ms.is_some())).collect();
    assert_eq!(states, [(node.clone(), "up", true), (node.clone(), "drained", false)]);
    assert_eq!(change.nodes[1].reason.as_deref(), Some("dead fan"));
    assert!(change.nodes[1].from_ms <= change.as_of_ms);
    let suspended = collector.runs().into_values().find(|r| r.job_raw == pause).unwrap();
    assert_eq!((suspended.state.as_str(), suspended.terminal), ("SUSPENDED", false));
    let again = collector.job(&whole);
    assert_eq!(again.state, "PENDING");
    let first = collector.runs().into_values().find(|r| r.job_raw == whole).unwrap();
    assert_eq!((first.state.as_str(), first.terminal), ("REQUEUED", true));
    assert!(again.submit_ms > first.submit_ms, "the second request is another record");
    assert_eq!(collector.job(&held).state, "CANCELLED");

    slurm.run(&format!("scontrol update nodename={node} state=resume"));
    slurm.run(&format!("scancel {het} {whole} {pause}"));
    slurm.wait(&format!("sacct -X -n -P -j {long} -o State"), "TIMEOUT");
    slurm.wait("squeue -h -t R,S,CG -o %A | wc -l", "0");
    std::thread::sleep(Duration::from_secs(1));
    let change = collector.look().await;
    assert!(change.readings.iter().all(|r| r.ok), "{:?}", change.readings);
    assert_eq!(change.nodes.last().map(|n| n.state.as_str()), Some("up"));
    compare(&slurm, &collector);

    the_binary_does_the_same(&slurm, &collector);
    the_controller_goes_away(&slurm, &mut collector).await;
}

/// Every run that accounting knows is in the rows, with the same start, end, state and nodes; and no other.
fn compare(slurm: &Slurm, collector: &Collector) {
    let text = slurm.run(&format!("sacct -a -X -D -n -P --starttime=now-1hour {SACCT}"));
    let mut said = BTreeMap::new();
    for line in text.lines() {
        let [raw, start, end, state, nodes] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if let (Ok(start), false) = (start.parse::<i64>(), nodes == "None assigned") {
            let state = state.split(' ').next().unwrap();
            said.insert((raw.to_owned(), start), (end.parse::<i64>().ok(), state.to_owned(), nodes.to_owned()));
        }
    }
    let written = collector.runs().into_iter().map(|(key, r)| {
        let end = r.end_ms.map(|ms| ms / 1_000);
        (key, (end, r.state.clone(), r.nodes.clone().unwrap_or_default()))
    });
    let written: BTreeMap<_, _> = written.collect();
    assert_eq!(written, said);
    assert!(said.len() >= 6, "{said:?}");
    let states: BTreeSet<_> = said.values().map(|(_, state, _)| state.as_str()).collect();
    assert!(states.is_superset(&BTreeSet::from(["CANCELLED", "FAILED", "REQUEUED", "TIMEOUT"])), "{states:?}");
}

/// The binary with a configuration, once: the same runs are over, in segments of the inbox.
fn the_binary_does_the_same(slurm: &Slurm, collector: &Collector) {
    let root = slurm.folder.path().join("binary");
    std::fs::create_dir_all(root.join("lake/inbox")).unwrap();
    let config = format!(
        "cluster = \"sim\"\nlake = \"{0}/lake\"\nspool = \"{0}/spool\"\nmetrics_listen = \"\"\n[slurm]\nconf = \"{1}\"\n",
        root.display(),
        slurm.conf().display()
    );
    std::fs::write(root.join("cluster.toml"), config).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_gpuledger-collector"))
        .args(["cluster", "slurm", "--once", "--config"])
        .arg(root.join("cluster.toml"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let files =
        std::fs::read_dir(root.join("lake/inbox")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let tables: BTreeSet<String> = files.map(|f| f.split('~').next().unwrap().to_owned()).collect();
    let expected = ["allocation", "allocation_device", "job", "node_offer", "node_state", "reading"];
    assert_eq!(tables, expected.map(str::to_owned).into());
    let state = std::fs::read_to_string(root.join("spool/state")).unwrap();
    for run in collector.runs().values().filter(|r| r.terminal) {
        assert!(state.contains(&run.allocation_id.to_string()), "{} is not in the state", run.job_raw);
    }
}

/// Without its controller a look fails, and says nothing of jobs.
async fn the_controller_goes_away(slurm: &Slurm, collector: &mut Collector) {
    let last = slurm.submit("--gres=gpu:1 --wrap 'sleep 1200'");
    slurm.wait(&format!("squeue -h -j {last} -o %T"), "RUNNING");
    collector.look().await;
    let pid = std::fs::read_to_string(slurm.folder.path().join("run/slurmctld.pid")).unwrap();
    slurm.run(&format!("kill {}", pid.trim()));
    std::thread::sleep(Duration::from_secs(2));
    let change = collector.look().await.clone();
    assert_eq!((change.readings.len(), change.readings[0].ok, change.rows()), (1, false, 1));
    assert!(change.readings[0].error.as_deref().unwrap().starts_with("scontrol show job: "), "{:?}", change.readings);
    slurm.run("slurmctld >/dev/null 2>&1");
    slurm.wait("scontrol ping || true", "is UP");
    slurm.wait(&format!("squeue -h -j {last} -o %T"), "RUNNING");
    let change = collector.look().await;
    assert!(change.readings.iter().all(|r| r.ok), "{:?}", change.readings);
    // accounting may correct what was over before: a controller that starts tells it again
    let again = change.allocations.iter().find(|a| a.job_raw == last);
    assert_eq!(again, None, "the same run is the same allocation");
}
