//! Stories: `tests/scenarios/*.txt`. A line that begins with `> ` is typed by somebody, the rest is what is seen; the whole
//! transcript is compared. `SCENARIO_COMPLETE=1` writes what is seen; read it before it is believed.
//!
//! What can be typed stands in `Story::typed`. The clock starts on Monday 2026-10-05 at 08:00 UTC and nothing else moves it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use gpuledger_control::{Control, Switch, Switched};
use gpuledger_reclaim::actuator::Schedulers;
use gpuledger_reclaim::actuator::slurm::Slurm;
use gpuledger_reclaim::answer::{Answer, Who, answer};
use gpuledger_reclaim::apply::{Applied, Engine, Outcome};
use gpuledger_reclaim::plan::{Doing, Plan};
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::port::{Clock as _, Store as _};
use gpuledger_reclaim::proof::{export, told};
use gpuledger_reclaim::recoverable::{order, recoverable};
use gpuledger_reclaim::store::{ControlStore, KillFile};
use gpuledger_reclaim::sweep::sweep;
use gpuledger_reclaim::utc;
use gpuledger_schema::reclaim::{Case, Class, Identity, Workload};

use super::sim::ports::{SimClock, SimMail, SimSlurm, SimWorld};
use super::sim::{Fault, Fleet, Load, MINUTE, Shared, lock};

/// A kill file that tests put there.
#[derive(Clone, Default)]
pub(crate) struct Flag(pub(crate) Arc<AtomicBool>);

impl KillFile for Flag {
    fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

type Server = Engine<SimWorld, Schedulers, SimMail, ControlStore<Flag>>;

struct Story {
    control: PathBuf,
    begins_ms: i64,
    fleet: Shared,
    mail: SimMail,
    clock: Arc<SimClock>,
    flag: Flag,
    server: Option<Server>,
    policy: String,
    out: String,
    rounds: i64,
    letters: usize,
    alerts: usize,
    quiet: Vec<String>,
}

/// A span as typed, in ms.
pub(crate) fn length_ms(text: &str) -> i64 {
    let (number, unit) = text.split_at(text.len() - 1);
    let number: i64 = number.parse().expect("a number");
    number
        * match unit {
            "s" => 1_000,
            "m" => MINUTE,
            "h" => 60 * MINUTE,
            "d" => 24 * 60 * MINUTE,
            other => panic!("unit {other}"),
        }
}

impl Story {
    fn new(control: PathBuf, begins_ms: i64) -> Self {
        let fleet = Fleet { now_ms: begins_ms, read_ms: Some(begins_ms), ..Fleet::new(4, 4) };
        let fleet: Shared = Arc::new(Mutex::new(fleet));
        let clock = Arc::new(SimClock { fleet: Arc::clone(&fleet), off_ms: AtomicI64::new(0) });
        Self {
            control,
            begins_ms,
            fleet,
            mail: SimMail::default(),
            clock,
            flag: Flag::default(),
            server: None,
            policy: String::new(),
            out: String::new(),
            rounds: 5,
            letters: 0,
            alerts: 0,
            quiet: Vec::new(),
        }
    }

    fn say(&mut self, text: &str) {
        for line in text.trim_end().lines() {
            let _ = writeln!(self.out, "{line}");
        }
    }

    fn at(&self) -> String {
        let ms = lock(&self.fleet).now_ms - self.begins_ms;
        format!("+{:02}:{:02}", ms / 3_600_000, ms / 60_000 % 60)
    }

    fn engine(&self, holder: &str, clock: &Arc<SimClock>) -> Server {
        let control = Control::open(&self.control).expect("a control file");
        let slurm = Slurm { runner: SimSlurm(Arc::clone(&self.fleet)) };
        Engine {
            world: SimWorld(Arc::clone(&self.fleet)),
            actuator: Schedulers::default().with("alpha", Box::new(slurm)),
            notifier: self.mail.clone(),
            store: ControlStore { control, holder: holder.to_owned(), kill_file: self.flag.clone() },
            clock: Arc::clone(clock) as Arc<dyn gpuledger_reclaim::port::Clock>,
            book: Book::read(&self.policy).expect("a policy"),
        }
    }

    fn server(&mut self) -> &mut Server {
        if self.server.is_none() {
            let made = self.engine("a", &Arc::clone(&self.clock));
            self.server = Some(made);
        }
        self.server.as_mut().expect("a server")
    }

    /// The open case (else the newest) of a job.
    fn case(&mut self, job: &str) -> Case {
        let id = self.run_of(job);
        let control = &self.server().store.control;
        let mut cases = control.cases_since(0).expect("cases");
        cases.retain(|c| c.allocation_id == id);
        cases.sort_by_key(|c| (!c.state.is_over(), c.opened_ms));
        cases.pop().unwrap_or_else(|| panic!("no case of {job}"))
    }

    fn run_of(&self, job: &str) -> i64 {
        let fleet = lock(&self.fleet);
        let is = |i: &Identity| match i {
            Identity::Slurm { job_raw, .. } => job_raw == job,
            Identity::Kubernetes { pod, .. } => pod == job,
            Identity::Session { leader, .. } => leader.to_string() == job,
            Identity::Process { pid, .. } => pid.map_or("memory".to_owned(), |p| p.to_string()) == job,
        };
        let found = fleet.runs.values().rev().find(|r| is(&r.identity));
        found.unwrap_or_else(|| panic!("no job {job}")).id
    }

    /// One typed line.
    async fn typed(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = |n: usize| line.splitn(n + 1, ' ').nth(n).unwrap_or_default().to_owned();
        match words.as_slice() {
            ["policy", ..] => {
                let _ = writeln!(self.policy, "{}", rest(1));
                if let Ok(book) = Book::read(&self.policy) {
                    lock(&self.fleet).policy = Some(book);
                }
                self.server = None;
            }
            ["rounds", every] => self.rounds = length_ms(every) / MINUTE,
            ["step", ms] => lock(&self.fleet).step_ms = length_ms(ms),
            ["quiet", kinds @ ..] => self.quiet = kinds.iter().map(|k| (*k).to_owned()).collect(),
            ["job" | "pod" | "session" | "process", ..] => self.start(&words),
            ["load", job, load @ ..] => {
                let id = self.run_of(job);
                let mut fleet = lock(&self.fleet);
                let now = fleet.now_ms;
                let run = fleet.runs.get_mut(&id).expect("a run");
                run.load = load_of(load);
                run.load_from_ms = now;
            }
            ["end", job] => {
                let id = self.run_of(job);
                lock(&self.fleet).end(id);
            }
            ["advance", span] => self.advance(length_ms(span)).await,
            ["round"] => self.round().await,
            ["telemetry", "off", node] => lock(&self.fleet).blind.push((*node).to_owned()),
            ["telemetry", "on"] => lock(&self.fleet).blind.clear(),
            ["card", "lost", device] => lock(&self.fleet).lost.push(device.parse().expect("a card")),
            ["scheduler", "ok"] => {
                let mut fleet = lock(&self.fleet);
                (fleet.scheduler_error, fleet.short_to) = (None, None);
            }
            ["scheduler", "fails", ..] => lock(&self.fleet).scheduler_error = Some(rest(2)),
            ["scheduler", "shows", n] => lock(&self.fleet).short_to = Some(n.parse().expect("a number")),
            ["slurm", command, how, ..] => {
                let fault = match *how {
                    "fails" => Fault::Fail(rest(3)),
                    "hangs" => Fault::Hang,
                    "hangs-after" => Fault::HangDone,
                    "does-nothing" => Fault::NoEffect,
                    _ => Fault::Garbage,
                };
                lock(&self.fleet).faults.push(((*command).to_owned(), fault));
            }
            ["mail", "refuses", ..] => self.mail.0.lock().expect("the post").refuse.push(rest(2)),
            ["alerts", "refused", n] => {
                self.mail.0.lock().expect("the post").refuse_alerts = n.parse().expect("a number");
            }
            ["set", job, key, value] => self.set(job, key, value),
            _ => self.typed_more(&words, line).await,
        }
    }

    async fn typed_more(&mut self, words: &[&str], line: &str) {
        match words {
            [who @ ("owner" | "operator" | "mailer"), job, what @ ..] => self.answered(who, job, what),
            ["switch", name, state, reason @ ..] => self.switch(name, *state == "on", &reason.join(" ")),
            ["policies", "none"] => {
                self.policy.clear();
                lock(&self.fleet).policy = Book::read("").ok();
                self.server = None;
            }
            ["kill-file", state] => self.flag.0.store(*state == "on", Ordering::Relaxed),
            ["restart"] => self.server = None,
            ["clock", "step", span] => _ = self.clock.off_ms.fetch_add(length_ms(span), Ordering::Relaxed),
            ["clock", "right"] => self.clock.off_ms.store(0, Ordering::Relaxed),
            ["second", "server"] => {
                let mut other = self.engine("b", &Arc::clone(&self.clock));
                let said = match other.round().await {
                    Ok(applied) => format!("server b led: {} steps", applied.outcomes.len()),
                    Err(e) => format!("server b: {e}"),
                };
                self.say(&said);
            }
            ["story", job] => {
                let case = self.case(job);
                let events = self.server().store.control.case_events(case.case_id).expect("events");
                self.say(&format!("case of {job}: {} {}", case.class, case.state));
                for e in &events {
                    self.say(&format!("  {}", told(e)));
                }
            }
            ["proof", job] => {
                let case = self.case(job);
                let server = self.server();
                let events = server.store.control.case_events(case.case_id).expect("events");
                let (text, hash) = export(&case, &events, &server.book).expect("a proof");
                self.say(&format!("proof of {} bytes, sha256 {}", text.len(), &hash[..16]));
            }
            ["left"] => {
                let (plan, _) = self.server().plan().await.expect("a plan");
                for l in &plan.body.left {
                    self.say(&format!("  {}: {} {}", l.shown, l.why, l.detail));
                }
                for s in &plan.body.stops {
                    self.say(&format!("  stopped: {}: {}", s.kind, s.why));
                }
            }
            ["plan"] => {
                let (plan, _) = self.server().plan().await.expect("a plan");
                let text = plan_text(&plan);
                self.say(&text);
            }
            ["sweep"] => {
                let (plan, snapshot) = self.server().plan().await.expect("a plan");
                let text = sweep(&snapshot, &plan).text();
                self.say(&text);
            }
            ["letter"] => {
                let letter = self.mail.0.lock().expect("the post").letters.last().cloned().expect("a letter");
                let case = letter.link.clone();
                self.say(&format!(
                    "to {}: {}\n{}",
                    letter.to,
                    letter.subject,
                    letter.body.replace(&case, "/reclaim/N")
                ));
                self.say(&format!("{}\n{}", letter.subject_zh, letter.body_zh.replace(&case, "/reclaim/N")));
            }
            ["commands"] => {
                let list = lock(&self.fleet).commands.join("\n");
                self.say(&list);
            }
            ["free", gpus, pool] => self.free(gpus.parse().expect("a number"), pool, None).await,
            ["order", gpus, pool, who] => self.free(gpus.parse().expect("a number"), pool, Some(who)).await,
            _ => panic!("`{line}` is nothing that can be typed"),
        }
    }

    fn set(&mut self, job: &str, key: &str, value: &str) {
        let id = self.run_of(job);
        let mut fleet = lock(&self.fleet);
        let now = fleet.now_ms;
        let run = fleet.runs.get_mut(&id).expect("a run");
        match key {
            "checkpoints" => run.checkpoints_in_s = Some(value.parse().expect("seconds")),
            "checkpoint" => run.work.checkpoint_ms = Some(now - length_ms(value)),
            "leaves-memory" => run.leaves_memory = value == "yes",
            "contact" => run.owner.contact = (value != "none").then(|| value.to_owned()),
            "priority" => run.work.priority = Some(value.parse().expect("a number")),
            "borrowed" => run.work.borrowed = value == "yes",
            "preemptible" => run.work.preemptible = Some(value == "yes"),
            "max" => run.work.max_ms = Some(length_ms(value)),
            "user" => {
                if let Identity::Slurm { user, .. } = &mut run.identity {
                    *user = value.to_owned();
                }
            }
            other => panic!("{other}"),
        }
    }

    fn start(&mut self, words: &[&str]) {
        let kind = words[0];
        let name = words[1].to_owned();
        let get = |key: &str| words.iter().find_map(|w| w.strip_prefix(key)).map(str::to_owned);
        let user = get("user=").unwrap_or_else(|| "ada".to_owned());
        let team = get("team=").unwrap_or_else(|| "nlp".to_owned());
        let task_type = get("type=").unwrap_or_else(|| "debug".to_owned());
        let gpus: usize = get("gpus=").map_or(1, |g| g.parse().expect("a number"));
        let load: Vec<&str> = words.iter().skip_while(|w| !w.starts_with("load=")).copied().collect();
        let load = load.first().map_or(Load::Idle, |l| {
            let parts: Vec<&str> = l.trim_start_matches("load=").split(',').collect();
            load_of(&parts)
        });
        let mut fleet = lock(&self.fleet);
        let now = fleet.now_ms;
        let identity = match kind {
            "job" => Identity::Slurm {
                cluster: fleet.cluster.clone(),
                job_raw: name.clone(),
                array: get("array=").map(|a| pair(&a)),
                het: get("het=").map(|a| pair(&a)),
                user: user.clone(),
                start_ms: now,
            },
            "pod" => Identity::Kubernetes {
                cluster: fleet.cluster.clone(),
                namespace: team.clone(),
                pod: name.clone(),
                uid: format!("uid-{name}"),
                owner: get("owner=").map(|o| Workload {
                    kind: "Deployment".to_owned(),
                    uid: format!("uid-{o}"),
                    name: o,
                    busy_siblings: None,
                }),
                start_ms: now,
            },
            "session" => Identity::Session {
                node: "n1".to_owned(),
                boot: "b1".to_owned(),
                leader: name.parse().expect("a process"),
                start_ticks: Some(77),
                start_ms: now,
            },
            _ => Identity::Process {
                node: "n1".to_owned(),
                boot: "b1".to_owned(),
                pid: name.parse().ok(),
                start_ticks: get("ticks=").map(|t| t.parse().expect("a number")),
                start_ms: now,
            },
        };
        let devices: Vec<i64> = fleet.free_cards().into_iter().take(gpus).collect();
        assert_eq!(devices.len(), gpus, "cards for {name}");
        let mut run = fleet.run(identity, &user, &team, &task_type, devices, load);
        run.special = get("class=").map(|c| c.parse::<Class>().expect("a class"));
        fleet.add(run);
    }

    async fn advance(&mut self, ms: i64) {
        let mut left = ms;
        let mut count = 0;
        while left > 0 {
            let step = {
                let mut fleet = lock(&self.fleet);
                fleet.tick();
                fleet.step_ms
            };
            left -= step;
            count += 1;
            if count % self.rounds == 0 {
                self.round().await;
            }
        }
    }

    async fn round(&mut self) {
        let at = self.at();
        let done = self.server().round().await;
        match done {
            Ok(applied) => self.seen(&at, &applied),
            Err(e) => self.say(&format!("{at} nothing was done: {e}")),
        }
        let (letters, alerts) = {
            let post = self.mail.0.lock().expect("the post");
            let letters: Vec<String> =
                post.letters[self.letters..].iter().map(|l| format!("{at} mail to {}: {}", l.to, l.subject)).collect();
            let alerts: Vec<String> =
                post.alerts[self.alerts..].iter().map(|a| format!("{at} alert {}: {}", a.kind, a.text)).collect();
            (letters, alerts)
        };
        self.letters += letters.len();
        self.alerts += alerts.len();
        for line in letters.iter().chain(&alerts) {
            if !self.quiet.iter().any(|q| line.contains(q.as_str())) {
                self.say(line);
            }
        }
    }

    fn seen(&mut self, at: &str, applied: &Applied) {
        for (step, outcome) in applied.plan.body.steps.iter().zip(&applied.outcomes) {
            let became = match outcome {
                Outcome::Done => String::new(),
                Outcome::Refused(why) => format!(" REFUSED: {why}"),
                Outcome::Failed(why) => format!(" FAILED: {why}"),
                Outcome::NotKept(why) => format!(" NOT KEPT: {why}"),
            };
            self.say(&format!("{at} {}: {}{became}", step.shown, doing(&step.doing)));
        }
    }

    fn answered(&mut self, who: &str, job: &str, what: &[&str]) {
        let case = self.case(job);
        let now = self.clock.now_ms();
        let reason = what.get(2..).unwrap_or_default().join(" ");
        let given = match what {
            ["keep", span, ..] => Answer::Keep { reason, for_ms: length_ms(span) },
            ["normal", ..] => Answer::Normal { reason: what[1..].join(" ") },
            ["release"] => Answer::Release,
            ["exempt", span, ..] => Answer::Exempt { reason, until_ms: now + length_ms(span) },
            ["approve"] => Answer::Approve,
            ["hold", ..] => Answer::Hold { reason: what[1..].join(" ") },
            ["resume"] => Answer::Resume,
            ["bounce", which, why @ ..] => Answer::Bounce { last: *which == "last", why: why.join(" ") },
            other => panic!("{other:?} is no answer"),
        };
        let who = match who {
            "owner" => Who::Owner("ada".to_owned()),
            "operator" => Who::Operator("olga".to_owned()),
            _ => Who::Mail,
        };
        let at = self.at();
        let server = self.server();
        let book = server.book.clone();
        let said = match answer(&mut server.store, &book, &case, &who, &given, now) {
            Ok(case) => format!("{at} case of {job}: {}", case.state),
            Err(e) => format!("{at} not taken: {e}"),
        };
        self.say(&said);
    }

    fn switch(&mut self, name: &str, is_on: bool, reason: &str) {
        let which = Switch::ALL.into_iter().find(|s| s.as_str() == name).expect("a switch");
        let to = Switched { is_on, at_ms: self.clock.now_ms(), actor: "olga".to_owned(), reason: reason.to_owned() };
        self.server().store.control.switch(which, &to).expect("switched");
    }

    async fn free(&mut self, gpus: i64, pool: &str, approved_by: Option<&str>) {
        let now = self.clock.now_ms();
        let (_, snapshot) = self.server().plan().await.expect("a plan");
        let book = self.server().book.clone();
        let wanted = recoverable(&snapshot, &book, gpus, pool, now);
        for c in &wanted.take {
            let minutes = c.lost_gpu_ms / MINUTE;
            let (user, shown) = (c.user.clone(), c.shown.clone());
            let kind =
                [(c.borrowed, "borrowed"), (c.preemptible, "preemptible"), (c.checkpoint_ms.is_some(), "checkpointed")];
            let kind: Vec<&str> = kind.iter().filter(|(is, _)| *is).map(|(_, w)| *w).collect();
            let priority = c.priority.map_or("-".to_owned(), |p| p.to_string());
            self.say(&format!(
                "  {shown} of {user}: priority {priority} {} loses {minutes} GPU-minutes",
                kind.join(" ")
            ));
        }
        for (shown, why) in &wanted.spared {
            self.say(&format!("  spared {shown}: {why}"));
        }
        self.say(if wanted.is_enough { "  enough" } else { "  not enough" });
        if let Some(who) = approved_by {
            let server = self.server();
            let fence = server.store.lead(now, 120_000).expect("a lease").expect("this server leads");
            let opened = order(&mut server.store, fence, &snapshot, &book, &wanted, who, now).expect("an order");
            self.say(&format!("  ordered by {who}: {} cases", opened.len()));
        }
    }
}

fn pair(text: &str) -> (String, i64) {
    let (a, b) = text.split_once('_').expect("a pair");
    (a.to_owned(), b.parse().expect("a number"))
}

fn load_of(words: &[&str]) -> Load {
    let n = |i: usize| words[i].parse::<i64>().expect("a number");
    match words[0] {
        "busy" => Load::Busy,
        "idle" => Load::Idle,
        "pauses" => Load::Pauses { every: n(1), pause: n(2) },
        "stages" => Load::Stages { minutes: n(1) },
        "token" => Load::Token { every: n(1) },
        "then" => Load::Then { busy: n(1) },
        "sparse" => Load::Sparse { every: n(1), work: n(2) },
        "lies" => Load::Lies,
        "copies" => Load::Copies,
        "low" => Load::Low { percent: n(1) },
        "hangs" => Load::Hangs,
        other => panic!("{other} is no load"),
    }
}

fn doing(d: &Doing) -> String {
    let at = |ms: &Option<i64>| ms.map_or_else(|| "never by itself".to_owned(), utc);
    match d {
        Doing::Open { class, policy, deadline_ms, .. } => {
            format!("observed as {class} by policy {policy}, due {}", at(deadline_ms))
        }
        Doing::Tell { notice, deadline_ms } => format!("told ({notice:?}), due {}", at(deadline_ms)),
        Doing::Due => "due".to_owned(),
        Doing::Approve => "approved".to_owned(),
        Doing::Postpone { deadline_ms, .. } => format!("clock started again, due {}", at(deadline_ms)),
        Doing::Resume => "looked at from the beginning".to_owned(),
        Doing::Recover { .. } => "active again".to_owned(),
        Doing::Signal { signal, to_batch } => {
            format!("asked for a checkpoint: {signal}{}", if *to_batch { " to its script" } else { "" })
        }
        Doing::Order { act, .. } => format!("asked: {act}"),
        Doing::Freed { seen_ms } => format!("freed, seen free at {}", utc(*seen_ms)),
        Doing::Fail { why, .. } => format!("failed: {why}"),
        Doing::Escalate { why } => format!("needs an operator: {why}"),
        Doing::Exempt { reason, .. } => format!("exempt: {reason}"),
    }
}

fn plan_text(plan: &Plan) -> String {
    let mut out = String::new();
    for s in &plan.body.steps {
        let _ = writeln!(out, "  {}: {}", s.shown, doing(&s.doing));
    }
    if plan.body.steps.is_empty() {
        out.push_str("  nothing to do\n");
    }
    out
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Tells a story again, into a control file and from an instant on, and gives its transcript.
pub(crate) async fn tell(text: &str, control: &Path, begins_ms: i64) -> String {
    let mut story = Story::new(control.to_owned(), begins_ms);
    let mut begun = false;
    for line in text.lines() {
        begun |= line.starts_with("> ");
        if !begun {
            story.out.push_str(line);
            story.out.push('\n');
        } else if let Some(typed) = line.strip_prefix("> ") {
            let _ = writeln!(story.out, "{line}");
            story.typed(typed).await;
        }
    }
    story.out
}

#[tokio::test]
async fn every_story_is_told_as_it_is_written() {
    let only = std::env::var("SCENARIO_ONLY").unwrap_or_default();
    let complete = std::env::var("SCENARIO_COMPLETE").is_ok();
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("stories").map(|e| e.expect("a story").path()).collect();
    names.sort();
    names.retain(|p| p.to_string_lossy().contains(&only));
    assert!(!names.is_empty());
    let mut wrong = Vec::new();
    for path in names {
        let text = std::fs::read_to_string(&path).expect("a story");
        let folder = tempfile::tempdir().expect("a folder");
        let seen = tell(&text, &folder.path().join("control.sqlite"), super::sim::START).await;
        if seen == text {
            continue;
        }
        if complete {
            std::fs::write(&path, &seen).expect("written");
            continue;
        }
        let differs = seen.lines().zip(text.lines()).position(|(a, b)| a != b);
        let line = differs.unwrap_or(seen.lines().count().min(text.lines().count()));
        let of = |t: &str| t.lines().nth(line).unwrap_or("(nothing)").to_owned();
        wrong.push(format!("{} line {}:\n  seen    {}\n  written {}", path.display(), line + 1, of(&seen), of(&text)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
