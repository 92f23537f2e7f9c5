//! From a real Slurm with real jobs to a bill: the cluster collector reads Slurm, the node collector reads the simulated
//! driver, which reports the jobs' own processes.
//!
//! Needs `shared/slurm/slurm-up` and Slurm's daemons; where they are not, the test says so and passes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpuledger_nvml_sim::library;
use gpuledger_nvml_sim::scenario::Scenario;

use crate::site::{Site, shared};

/// How long the node collector records: more than a whole minute of its clock.
const RECORDED_S: &str = "75";
/// Two GPUs: the job on the first computes three fifths of the time, the one on the second only holds memory.
const SCENE: &str = r#"
[clock]
mode = "live"

[[gpu]]
minor = 0

[[gpu]]
minor = 1

[[process]]
who = { pid_file = "busy.pid" }
gpus = [0]
mem_bytes = 21474836480
sm = { constant = 60 }

[[process]]
who = { pid_file = "idle.pid" }
gpus = [1]
mem_bytes = 8589934592
sm = { constant = 0 }
"#;

/// A private Slurm of two nodes with two GPUs each; it ends with the test.
pub(crate) struct Slurm {
    pub(crate) folder: PathBuf,
    scripts: PathBuf,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new(self.scripts.join("slurm-down")).arg(&self.folder).output();
    }
}

impl Slurm {
    pub(crate) fn start(folder: PathBuf) -> Option<Self> {
        let scripts = PathBuf::from(shared("live_slurm", "slurm")?);
        let there = |name: &str| {
            let paths = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&paths).chain(["/usr/sbin".into()]).any(|p| p.join(name).exists())
        };
        if let Some(missing) = ["slurmctld", "slurmdbd", "mariadbd", "munged"].into_iter().find(|name| !there(name)) {
            println!("skipped: live_slurm: {missing} is not installed");
            return None;
        }
        let slurm = Self { folder, scripts };
        let up = Command::new(slurm.scripts.join("slurm-up"))
            .arg(&slurm.folder)
            .args(["2", "2"])
            .env("SLURM_PORT_BASE", (31_000 + std::process::id() % 9_000).to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(up.unwrap().success(), "slurm-up failed");
        Some(slurm)
    }

    pub(crate) fn run(&self, line: &str) -> String {
        let mut command = Command::new("bash");
        command.args(["-c", line]).env("SLURM_CONF", self.folder.join("slurm.conf")).env("SLURM_TIME_FORMAT", "%s");
        let out = command.output().unwrap();
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Submits a job of account nlp that holds one GPU of the first node, writes its pid and sleeps; waits until it runs.
    fn job(&self, name: &str, pid_file: &Path) -> String {
        let id = self.run(&format!(
            "sbatch --parsable -A nlp -J {name} -w gpu1 --gres=gpu:1 -t 30 -o /dev/null --wrap 'echo $$ > {}; exec sleep 900'",
            pid_file.display()
        ));
        let since = Instant::now();
        while !(self.run(&format!("squeue -h -j {id} -o %T")).contains("RUNNING") && pid_file.exists()) {
            assert!(since.elapsed() < Duration::from_secs(60), "job {id} does not start");
            std::thread::sleep(Duration::from_millis(200));
        }
        id
    }
}

/// A process that ends with the test.
pub(crate) struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Kept {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Asks it to stop; it must end well.
    pub(crate) fn stop(mut self) {
        let asked = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap();
        assert!(asked.success());
        assert!(self.0.wait().unwrap().success(), "it did not end well");
    }
}

fn configurations(site: &Site, slurm: &Slurm, library: &Path) -> (String, String) {
    let (data, spool) = (site.data(), site.beside("spool"));
    let cluster = format!(
        "cluster = \"sim\"\nlake = {data:?}\nspool = {:?}\ninterval_s = 10\nseal_looks = 1\nmetrics_listen = \"\"\n\
         [slurm]\nconf = {:?}\ngres_index = \"minor\"\naccounting_back_h = 1\n",
        spool.join("cluster"),
        slurm.folder.join("slurm.conf"),
    );
    let node = format!(
        "cluster = \"sim\"\nnode = \"gpu1\"\nscheduler = \"slurm\"\nlake = {data:?}\nspool = {:?}\nnvml_path = {library:?}\n\
         poll_s = 2\nseal_ticks = 1\nmetrics_listen = \"\"\n",
        spool.join("node"),
    );
    (site.file("cluster.toml", cluster), site.file("node.toml", node))
}

/// Both jobs hold a card by Slurm's own times; one is busy, the other pays for nothing but its reservation.
#[test]
fn live_slurm_real_jobs_are_on_the_bill() {
    let site = Site::billed("UTC", "EUR");
    let Some(slurm) = Slurm::start(site.beside("slurm")) else { return };
    site.price("36.00");
    let scene = site.beside("scene");
    std::fs::create_dir_all(&scene).unwrap();
    let simulated = library::install(&scene, &Scenario::parse(SCENE).unwrap()).unwrap();
    let (cluster, node) = configurations(&site, &slurm, &simulated.library);
    std::fs::create_dir_all(site.data().join("inbox")).unwrap();

    let busy = slurm.job("train-it", &scene.join("busy.pid"));
    let idle = slurm.job("hold-it", &scene.join("idle.pid"));
    let program = Path::new(env!("CARGO_BIN_EXE_gpuledger")).with_file_name("gpuledger-collector");
    let of_cluster = Kept::start(Command::new(program).args(["cluster", "slurm", "--config", &cluster]));
    let mut of_node = site.command(&["collect-for", "--node-config", &node, "--seconds", RECORDED_S]);
    let recorded = of_node.env("NVML_SIM_SCENARIO", &simulated.scenario).stdin(Stdio::null()).status();
    assert!(recorded.unwrap().success());
    slurm.run(&format!("scancel {busy}"));
    std::thread::sleep(Duration::from_secs(15));
    of_cluster.stop();
    let told = site.run(&["ingest"]);
    assert_eq!(told.code, 0, "{told:#?}");

    // what Slurm says of the job that is over is what was held, to the second
    let times = slurm.run(&format!("sacct -n -P -X -j {busy} -o Start,End"));
    let (start, end) = times.split_once('|').unwrap();
    let length = end.parse::<i64>().unwrap() - start.parse::<i64>().unwrap();
    let held = site.sql(&format!(
        "SELECT r.state, sum(u.busy_ms + u.held_idle_ms + u.held_unmeasured_ms) AS held_ms, sum(u.busy_ms) AS busy_ms, \
         sum(u.covered_ms) AS covered_ms, count(DISTINCT d.uuid) AS devices, max(d.minor) AS minor \
         FROM usage u JOIN run r ON r.holder = u.holder LEFT JOIN device d ON d.device_id = u.unit_id \
         WHERE r.job_raw IN ('{busy}', '{idle}') GROUP BY r.job_raw, r.state ORDER BY r.job_raw"
    ));
    let number = |row: usize, column: &str| held.rows[row][held.at(column)].parse::<i64>().unwrap();
    assert_eq!(held.rows.len(), 2, "{held:#?}");
    assert_eq!(
        (held.rows[0][held.at("state")].as_str(), number(0, "held_ms")),
        ("CANCELLED", length * 1_000),
        "{held:#?}"
    );
    for (row, percent) in [(0, 60), (1, 0)] {
        assert_eq!((number(row, "devices"), number(row, "minor")), (1, row as i64), "{held:#?}");
        let (covered, ran) = (number(row, "covered_ms"), number(row, "busy_ms"));
        assert!(covered >= 60_000 && (100 * ran / covered - percent).abs() <= 2, "{held:#?}");
    }
    assert_eq!(held.rows[1][held.at("state")], "RUNNING");
    assert_eq!(site.sql("SELECT count(*) AS n FROM device_mismatch").one("n"), "0");

    // 36.00 an hour is a cent a second
    let page = site.ok(&["report", "job", &format!("sim/{busy}"), "--zone", "UTC"]);
    let charge = format!("{}.{:02}", length / 100, length % 100);
    for word in ["train-it", "nlp", "gpu1", charge.as_str()] {
        assert!(page.contains(word), "`{word}` is not in {page}");
    }
    let checks = site.run(&["check", "--zone", "UTC"]);
    assert!(checks.code == 0 && !checks.out.contains("VIOLATED"), "{checks:#?}");
}
