//! From an idle job to a proved free GPU, with a real Slurm, real jobs, real mail and a simulated driver, under a policy of
//! 60/90/120 seconds. One owner does not answer: a checkpoint is taken, the job is put back, the GPU is seen free. A second one
//! keeps it, a third one's node loses its telemetry: both stay as they are.
//!
//! Needs `shared/slurm/slurm-up`, Slurm's daemons, and a Python with aiosmtpd (`GPULEDGER_AIOSMTPD_PYTHON`); where they are not, the
//! test says so and passes. It takes some minutes of waiting, a tick is a minute, so that it is asked for: `GPULEDGER_REAL_RECLAIM=1`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpuledger_nvml_sim::library;
use gpuledger_nvml_sim::scenario::Scenario;
use serde_json::Value;

use crate::live_slurm::{Kept, Slurm};
use crate::server::Server;
use crate::site::Site;

const POLICY: &str = r#"
switch = { notify = true, act = true }
power_floor_watts = { "NVIDIA H100 80GB HBM3" = 75 }
[[policy]]
name = "debug"
force = "a test: seconds instead of hours"
scope = { task_type = "debug" }
[policy.set]
never_touched = { warned_seconds = 60, final_seconds = 90, due_seconds = 120 }
idle = { warned_seconds = 60, final_seconds = 90, due_seconds = 120 }
approval = "automatic"
resume_nice = -10
confirm_minutes = 5
retry_seconds = 20
checkpoint = { signal = "USR1", to_batch = true, wait_seconds = 60, file = "FOLDER/checkpoint-{job}" }
"#;

/// Two GPUs of a node; the jobs' processes only hold memory.
fn scene(node: &str) -> String {
    let mut text = "[clock]\nmode = \"live\"\n".to_owned();
    for index in 0..2 {
        text.push_str(&format!(
            "[[gpu]]\nminor = {index}\nuuid = \"GPU-0000000{}-0000-0000-0000-00000000000{index}\"\n\
             [[process]]\nwho = {{ pid_file = \"{node}-{index}.pid\" }}\ngpus = [{index}]\nmem_bytes = 8589934592\n\
             sm = {{ constant = 0 }}\n",
            node.trim_start_matches("gpu"),
        ));
    }
    text
}

/// The mail server of `tests/mail`.
struct Mail {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Mail {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Mail {
    fn start(folder: PathBuf) -> Option<Self> {
        let Some(python) = std::env::var_os("GPULEDGER_AIOSMTPD_PYTHON") else {
            println!("skipped: reclaim_slurm: GPULEDGER_AIOSMTPD_PYTHON names no Python with aiosmtpd");
            return None;
        };
        std::fs::create_dir_all(&folder).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mail/server.py");
        let mut server = Command::new(python);
        let mut child = server.arg(script).arg(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Some(Self { child, folder, port: said["port"].as_u64().unwrap() as u16 })
    }

    /// To whom, and the subject, of every mail that it took.
    fn taken(&self) -> Vec<(String, String)> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&self.folder).unwrap().map(|e| e.unwrap().path()).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
        paths.sort();
        let one = |p: PathBuf| {
            let mail: Value = serde_json::from_slice(&std::fs::read(p).unwrap()).unwrap();
            let subject = mail["headers"].as_array().unwrap().iter().find(|h| h[0] == "Subject").unwrap();
            (mail["to"][0].as_str().unwrap().to_owned(), subject[1].as_str().unwrap().to_owned())
        };
        paths.into_iter().map(one).collect()
    }
}

/// A job that holds one GPU of a node, takes a checkpoint when it is asked to, and computes nothing.
fn submit(slurm: &Slurm, folder: &Path, user: &str, node: &str, gpu: usize) -> String {
    let script = folder.join(format!("{node}-{gpu}.sh"));
    let pid = folder.join(format!("{node}-{gpu}.pid"));
    let text = format!(
        "#!/bin/bash\ntrap 'date > {}/checkpoint-$SLURM_JOB_ID' USR1\necho $$ > {}\nwhile :; do sleep 1; done\n",
        folder.display(),
        pid.display(),
    );
    std::fs::write(&script, text).unwrap();
    let id = slurm.run(&format!(
        "cd / && sbatch --parsable --uid={user} -A nlp -J debug-{node}-{gpu} -w {node} --gres=gpu:1 -t 60 --requeue -o /dev/null {}",
        script.display()
    ));
    let since = Instant::now();
    while !(slurm.run(&format!("squeue -h -j {id} -o %T")).contains("RUNNING") && pid.exists()) {
        assert!(since.elapsed() < Duration::from_secs(60), "job {id} does not start");
        std::thread::sleep(Duration::from_millis(200));
    }
    id
}

/// A site with everything configured.
fn configured(folder: &Path, mail: &Mail, slurm_conf: &Path) -> Site {
    Site::with(&format!(
        "billing_zone = \"UTC\"\ncurrency = \"EUR\"\n\
         [notify.mail]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\nfrom = \"gpu@example.org\"\nhello = \"test.example.org\"\n\
         [reclaim]\nkill_file = {:?}\n[reclaim.slurm.sim]\nconf = {slurm_conf:?}\n",
        mail.port,
        folder.join("stop"),
    ))
}

fn cases(site: &Site) -> Vec<Value> {
    let text = site.ok(&["reclaim", "cases", "--all", "--format", "json"]);
    serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().clone()
}

fn of_job<'a>(cases: &'a [Value], job: &str) -> Option<&'a Value> {
    cases.iter().find(|c| c["facts"]["identity"]["job_raw"] == job)
}

#[test]
fn reclaim_slurm_an_idle_job_is_warned_asked_for_a_checkpoint_put_back_and_seen_free() {
    // minutes of real time, in which nothing else may take the machine
    if std::env::var_os("GPULEDGER_REAL_RECLAIM").is_none() {
        println!("skipped: reclaim_slurm: set GPULEDGER_REAL_RECLAIM=1 and run it alone");
        return;
    }
    let base = Site::new();
    let Some(mail) = Mail::start(base.beside("mail")) else { return };
    let Some(slurm) = Slurm::start(base.beside("slurm")) else { return };
    // jobs of other users write here
    let folder = base.beside("scene");
    std::fs::create_dir_all(&folder).unwrap();
    for open in [base.beside("."), folder.clone()] {
        assert!(Command::new("chmod").arg("777").arg(open).status().unwrap().success());
    }
    let site = configured(&folder, &mail, &slurm.folder.join("slurm.conf"));
    site.price("36.00");
    site.reference("rules", "position,name_pattern,task_type\n1,debug-*,debug\n");
    site.reference(
        "contacts",
        "kind,name,channel,address,language\nuser,daemon,mail,first@example.org,en\nuser,nobody,mail,second@example.org,zh\n\
         user,root,mail,third@example.org,en\nrole,on-call,mail,oncall@example.org,en\nlead,nlp,mail,lead@example.org,en\n",
    );
    site.reference("owners", "kind,value,team\naccount,nlp,nlp\n");
    let policy = site.file("policy.toml", POLICY.replace("FOLDER", folder.to_str().unwrap()));
    site.ok(&["reclaim", "policy", "import", &policy]);
    std::fs::create_dir_all(site.data().join("inbox")).unwrap();

    let first = submit(&slurm, &folder, "daemon", "gpu1", 0);
    let second = submit(&slurm, &folder, "nobody", "gpu1", 1);
    let third = submit(&slurm, &folder, "root", "gpu2", 0);
    let collectors = collectors(&site, &slurm, &folder);
    let mut watch = site.command(&["reclaim", "watch", "--every", "5"]);
    let watch = Kept::start(watch.stderr(Stdio::null()));

    let since = Instant::now();
    let (mut kept, mut collectors) = (false, collectors);
    loop {
        assert!(since.elapsed() < Duration::from_secs(600), "{:#?}\n{:?}", cases(&site), mail.taken());
        std::thread::sleep(Duration::from_secs(2));
        let now = cases(&site);
        let is_told = of_job(&now, &third).is_some_and(|c| c["case"]["state"] != "observed");
        if is_told && collectors.len() == 3 {
            // once its owner is told, the third one's node is not seen any more: before anything is due
            drop(collectors.pop());
        }
        let warned = of_job(&now, &second).filter(|c| c["case"]["state"] == "warned");
        if let Some(case) = warned.filter(|_| !kept) {
            let id = case["case"]["case_id"].to_string();
            let said =
                site.ok(&["reclaim", "answer", &id, "keep", "--for", "2h", "--reason", "evaluation", "--by", "nobody"]);
            assert!(said.contains("is kept until"), "{said}");
            kept = true;
        }
        if of_job(&now, &first).is_some_and(|c| c["case"]["state"] == "freed") {
            break;
        }
    }
    watch.stop();
    assert!(kept, "the second owner was never asked");
    assert_eq!(collectors.len(), 2, "the third owner was never told");
    proved(&site, &slurm, &mail, &folder, [&first, &second, &third]);
    drop(collectors);
}

/// The cluster's collector, and one for each node; the last is that of the second node.
fn collectors(site: &Site, slurm: &Slurm, folder: &Path) -> Vec<Kept> {
    let (data, spool) = (site.data(), site.beside("spool"));
    let cluster = format!(
        "cluster = \"sim\"\nlake = {data:?}\nspool = {:?}\ninterval_s = 10\nseal_looks = 1\nmetrics_listen = \"\"\n\
         [slurm]\nconf = {:?}\ngres_index = \"minor\"\naccounting_back_h = 1\n",
        spool.join("cluster"),
        slurm.folder.join("slurm.conf"),
    );
    let cluster = site.file("cluster.toml", cluster);
    let program = Path::new(env!("CARGO_BIN_EXE_gpuledger")).with_file_name("gpuledger-collector");
    let mut out = vec![Kept::start(Command::new(program).args(["cluster", "slurm", "--config", &cluster]))];
    for node in ["gpu1", "gpu2"] {
        let at = folder.join(format!("nvml-{node}"));
        std::fs::create_dir_all(&at).unwrap();
        for index in 0..2 {
            let name = format!("{node}-{index}.pid");
            // a pid file lies beside its scenario
            std::os::unix::fs::symlink(folder.join(&name), at.join(&name)).unwrap();
        }
        let simulated = library::install(&at, &Scenario::parse(&scene(node)).unwrap()).unwrap();
        let config = format!(
            "cluster = \"sim\"\nnode = \"{node}\"\nscheduler = \"slurm\"\nlake = {data:?}\nspool = {:?}\nnvml_path = {:?}\n\
             poll_s = 2\nseal_ticks = 1\nmetrics_listen = \"\"\n",
            spool.join(node),
            simulated.library,
        );
        let config = site.file(&format!("{node}.toml"), config);
        let mut command = site.command(&["collect-for", "--node-config", &config, "--seconds", "3000"]);
        out.push(Kept::start(command.env("NVML_SIM_SCENARIO", &simulated.scenario)));
    }
    out
}

/// What the controller wrote down of jobs and nodes.
fn controller(slurm: &Slurm) -> String {
    slurm.run(&format!("grep -E 'JobId=|[Nn]ode' {}/log/slurmctld.log | tail -80", slurm.folder.display()))
}

fn proved(site: &Site, slurm: &Slurm, mail: &Mail, folder: &Path, [first, second, third]: [&str; 3]) {
    let now = cases(site);
    let case = of_job(&now, first).unwrap();
    let id = case["case"]["case_id"].to_string();
    // the story in its order, each with its proof
    let proof: Value = serde_json::from_str(&site.ok(&["reclaim", "proof", &id])).unwrap();
    let events = proof["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|e| e["kind"].as_str().unwrap()).filter(|k| *k != "postponed").collect();
    let way = [
        "opened",
        "warned",
        "final_warned",
        "due_passed",
        "approved",
        "intended",
        "asked",
        "intended",
        "asked",
        "freed",
    ];
    assert_eq!(kinds, way, "{proof:#}");
    let of = |kind: &str| events.iter().rev().find(|e| e["kind"] == kind).unwrap();
    assert!(of("warned")["proof"].as_str().unwrap().starts_with("250 "), "{proof:#}");
    assert!(of("asked")["proof"].as_str().unwrap().contains(&format!("scontrol requeue {first}: exit 0")), "{proof:#}");
    assert!(folder.join(format!("checkpoint-{first}")).exists(), "no checkpoint was written");
    // Slurm put it back, and nothing else
    let state =
        |job: &str| slurm.run(&format!("scontrol show job {job} | tr ' ' '\\n' | grep -E '^(JobState|Restarts)='"));
    assert!(state(first).contains("Restarts=1"), "{}", state(first));
    for other in [second, third] {
        let is_there = state(other).contains("JobState=RUNNING") && state(other).contains("Restarts=0");
        assert!(is_there, "job {other}: {}\n{:#}\n{}", state(other), Value::Array(now.clone()), controller(slurm));
    }
    assert_eq!(of_job(&now, second).unwrap()["case"]["state"], "kept");
    // mail: two warnings and the end to the first, one warning in their language to the second
    let taken = mail.taken();
    let to = |who: &str| taken.iter().filter(|(to, _)| to == who).map(|(_, s)| s.as_str()).collect::<Vec<_>>();
    assert_eq!(to("first@example.org").len(), 3, "{taken:?}");
    assert!(to("first@example.org")[2].contains("freed"), "{taken:?}");
    assert_eq!(to("second@example.org").len(), 1, "{taken:?}");
    // the lead hears what is final, and once that the second one keeps it
    let kept: Vec<_> = to("lead@example.org").into_iter().filter(|s| s.contains("kept until")).collect();
    assert_eq!(kept.len(), 1, "{taken:?}");
    // the ledger stops charging when the run ended: 36.00 an hour is a cent a second
    site.ok(&["ingest"]);
    let held = site.sql(&format!(
        "SELECT r.start_ms, r.end_ms, r.open, sum(u.busy_ms + u.held_idle_ms + u.held_unmeasured_ms) AS held_ms FROM usage u \
         JOIN run r ON r.holder = u.holder WHERE r.job_raw = '{first}' AND r.attempt = 1 GROUP BY r.start_ms, r.end_ms, r.open"
    ));
    let number = |column: &str| held.one(column).parse::<i64>().unwrap();
    assert_eq!(held.one("open"), "false", "{held:#?}");
    let classes = "SELECT u.unit_id, u.cell, u.from_ms, u.to_ms, u.holder, u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, \
                   u.unavailable_ms, u.unobserved_ms FROM usage u ORDER BY 1, 2, 3";
    let all = || format!("{held:#?}\n{}\n{}", site.ok(&["sql", classes]), controller(slurm));
    assert_eq!(number("held_ms"), number("end_ms") - number("start_ms"), "{}", all());
    assert!(number("end_ms") <= of("freed")["at_ms"].as_i64().unwrap(), "{held:#?}\n{proof:#}");
    let now_month = slurm.run("date -u +%Y-%m");
    let value: Value =
        serde_json::from_str(&site.ok(&["reclaim", "value", "--month", &now_month, "--format", "json"])).unwrap();
    let line = value["lines"].as_array().unwrap().iter().find(|l| l["figures"]["freed"] == 1).unwrap();
    assert_eq!((line["team"].as_str(), line["rule"].as_str()), (Some("nlp"), Some("never_touched")), "{value:#}");
    assert!(value["lines"].as_array().unwrap().iter().any(|l| l["figures"]["false_alarms"] == 1), "{value:#}");
    // and so does the page
    let made = site.ok(&["token", "create", "operator", "--role", "operator", "--format", "json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    let server = Server::start(site, &[]);
    let page = |path: &str| server.get(made["secret"].as_str().unwrap(), path).text();
    let shown = page(&format!("/reclaim/case?case={id}"));
    for word in [format!("job {first}").as_str(), "seen free", "250 "] {
        assert!(shown.contains(word), "`{word}` is not on the page of the case: {shown}");
    }
    let all = page("/reclaim");
    assert!(all.contains(&format!("job {second}")) && all.contains(&format!("job {first}")), "{all}");
}
