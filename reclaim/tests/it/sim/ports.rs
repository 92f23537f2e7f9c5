//! The fleet behind the traits of the engine: a world to look at, a Slurm that is typed at, mail that may bounce, a store in memory
//! and clocks that may step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gpuledger_reclaim::actuator::slurm::{Ran, RunError, Runner};
use gpuledger_reclaim::letter::Letter;
use gpuledger_reclaim::plan::Alert;
use gpuledger_reclaim::port::{Clock, Delivery, Notifier, Store, StoreError, Unreachable, World};
use gpuledger_reclaim::store::past_of;
use gpuledger_schema::reclaim::{Case, CaseEvent, EventKind, Identity, Past, Snapshot, Switches};

use super::{Fault, Fleet, Shared, lock};

/// Looks at the fleet.
pub(crate) struct SimWorld(pub(crate) Shared);

#[async_trait]
impl World for SimWorld {
    async fn look(&mut self) -> Result<Snapshot, Unreachable> {
        Ok(lock(&self.0).snapshot())
    }
}

/// The clock of a server: that of the fleet, and how far it is off.
pub(crate) struct SimClock {
    pub(crate) fleet: Shared,
    pub(crate) off_ms: AtomicI64,
}

impl Clock for SimClock {
    fn now_ms(&self) -> i64 {
        lock(&self.fleet).now_ms + self.off_ms.load(Ordering::Relaxed)
    }
}

/// Slurm's commands.
pub(crate) struct SimSlurm(pub(crate) Shared);

fn ran(code: i32, output: &str, said: &str) -> Ran {
    Ran { code: Some(code), output: output.to_owned(), said: said.to_owned() }
}

#[async_trait]
impl Runner for SimSlurm {
    async fn run(&mut self, program: &str, arguments: &[&str]) -> Result<Ran, RunError> {
        let mut fleet = lock(&self.0);
        let typed = format!("{program} {}", arguments.join(" "));
        let is_look = arguments.first() == Some(&"show");
        if !is_look {
            fleet.commands.push(typed.clone());
        }
        let at = fleet.faults.iter().position(|(word, _)| typed.contains(word.as_str()));
        match at.map(|i| fleet.faults.remove(i).1) {
            Some(Fault::Fail(why)) => return Ok(ran(1, "", &why)),
            Some(Fault::Hang) => return Err(RunError::Deadline),
            Some(Fault::HangDone) => {
                obey(&mut fleet, program, arguments);
                return Err(RunError::Deadline);
            }
            Some(Fault::NoEffect) => return Ok(ran(0, "", "")),
            Some(Fault::Garbage) => return Ok(ran(0, "JobId=x\u{fffd} broken", "")),
            None => {}
        }
        Ok(obey(&mut fleet, program, arguments))
    }
}

/// The name under which the controller knows a run, and its own number.
fn names(identity: &Identity) -> Option<(String, String)> {
    match identity {
        Identity::Slurm { job_raw, array: Some((a, t)), .. } => Some((format!("{a}_{t}"), job_raw.clone())),
        Identity::Slurm { job_raw, het: Some((l, o)), .. } => Some((format!("{l}+{o}"), job_raw.clone())),
        Identity::Slurm { job_raw, .. } => Some((job_raw.clone(), job_raw.clone())),
        _ => None,
    }
}

fn obey(fleet: &mut Fleet, program: &str, arguments: &[&str]) -> Ran {
    let Some(id) = arguments.last().map(|a| a.trim_start_matches("JobId=")) else { return ran(1, "", "usage") };
    if program == "scontrol" && arguments.first() == Some(&"update") {
        return ran(0, "", "");
    }
    let found = fleet.runs.values().find(|r| r.is_there() && names(&r.identity).is_some_and(|(n, _)| n == id));
    let Some(run) = found else { return ran(1, "", "slurm_load_jobs error: Invalid job id specified") };
    let run_id = run.id;
    match (program, arguments.first().copied().unwrap_or_default()) {
        ("scontrol", "show") => ran(0, &record(run), ""),
        ("scancel", first) if first.starts_with("--signal") => {
            let now = fleet.now_ms;
            if let Some(run) = fleet.runs.get_mut(&run_id) {
                run.signalled_ms = Some(now);
            }
            ran(0, "", "")
        }
        ("scontrol", "requeue") | ("scancel", _) => {
            let now = fleet.now_ms;
            fleet.end(run_id);
            fleet.ended_by_us.push((run_id, now));
            ran(0, "", "")
        }
        _ => ran(1, "", "unknown command"),
    }
}

fn record(run: &super::Run) -> String {
    let Some((_, raw)) = names(&run.identity) else { return String::new() };
    let at = |ms: i64| {
        chrono::DateTime::from_timestamp_millis(ms)
            .map(|t| t.format("%Y-%m-%dT%H:%M:%S").to_string())
            .unwrap_or_default()
    };
    let array = match &run.identity {
        Identity::Slurm { array: Some((a, t)), .. } => format!(" ArrayJobId={a} ArrayTaskId={t}"),
        Identity::Slurm { het: Some((l, o)), .. } => format!(" HetJobId={l} HetJobOffset={o}"),
        _ => String::new(),
    };
    let (start, gpus) = (run.identity.start_ms(), run.devices.len());
    format!(
        "JobId={raw}{array} JobName=x UserId={}(1000) GroupId=x(1000) JobState=RUNNING Reason=None Restarts=0 \
         SubmitTime={} EligibleTime={} StartTime={} EndTime=Unknown TimeLimit=UNLIMITED Partition=gpu NodeList={} \
         NumNodes={} NumCPUs=8 ReqTRES=cpu=8,gres/gpu={gpus} AllocTRES=cpu=8,gres/gpu={gpus}\n",
        run.owner.user,
        at(start),
        at(start),
        at(start),
        run.nodes.join(","),
        run.nodes.len(),
    )
}

/// Mail.
#[derive(Default)]
pub(crate) struct Post {
    pub(crate) letters: Vec<Letter>,
    pub(crate) alerts: Vec<Alert>,
    /// The next letters are refused with these words.
    pub(crate) refuse: Vec<String>,
    /// So many alerts are not taken.
    pub(crate) refuse_alerts: usize,
}

/// The mail of a server.
#[derive(Clone, Default)]
pub(crate) struct SimMail(pub(crate) Arc<Mutex<Post>>);

#[async_trait]
impl Notifier for SimMail {
    async fn send(&mut self, letter: &Letter) -> Result<Delivery, Unreachable> {
        let mut post = self.0.lock().expect("the post");
        if let Some(why) = post.refuse.pop() {
            return Err(Unreachable { what: format!("mail to {}", letter.to), why });
        }
        post.letters.push(letter.clone());
        Ok(Delivery { to: letter.to.clone(), proof: format!("250 2.0.0 Ok: {}", post.letters.len()) })
    }

    async fn alert(&mut self, alert: &Alert) -> Result<(), Unreachable> {
        let mut post = self.0.lock().expect("the post");
        if post.refuse_alerts > 0 {
            post.refuse_alerts -= 1;
            return Err(Unreachable { what: "on-call".to_owned(), why: "503".to_owned() });
        }
        post.alerts.push(alert.clone());
        Ok(())
    }
}

/// A store in memory, for long runs.
#[derive(Default, Clone)]
pub(crate) struct Memory(pub(crate) Arc<Mutex<Kept>>);

/// What it keeps.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) cases: BTreeMap<i64, (Case, Vec<CaseEvent>)>,
    open: BTreeMap<i64, i64>,
    asked: Vec<(i64, i64)>,
    news: BTreeMap<String, (String, i64)>,
    pub(crate) switches: Switches,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let it = Self::default();
        it.0.lock().expect("the store").switches = Switches { notify: true, act: true, killed: None, breaker: None };
        it
    }
}

impl Store for Memory {
    fn lead(&mut self, _: i64, _: i64) -> Result<Option<i64>, StoreError> {
        Ok(Some(1))
    }

    fn open_cases(&self) -> Result<Vec<Case>, StoreError> {
        let kept = self.0.lock().expect("the store");
        let mut out: Vec<Case> = kept.open.values().map(|id| kept.cases[id].0.clone()).collect();
        out.sort_by_key(|c| c.case_id);
        Ok(out)
    }

    fn open(&mut self, _: i64, case: &Case, event: &CaseEvent) -> Result<(), StoreError> {
        let mut kept = self.0.lock().expect("the store");
        if kept.open.contains_key(&case.allocation_id) {
            return Err(StoreError::Refused("there is an open case".to_owned()));
        }
        kept.open.insert(case.allocation_id, case.case_id);
        kept.cases.insert(case.case_id, (case.clone(), vec![event.clone()]));
        Ok(())
    }

    fn move_case(&mut self, _: Option<i64>, case: &Case, event: &CaseEvent) -> Result<Case, StoreError> {
        let mut kept = self.0.lock().expect("the store");
        let (known, events) = kept.cases.get_mut(&case.case_id).ok_or(StoreError::Refused("no case".to_owned()))?;
        if known.seq != case.seq {
            return Err(StoreError::Refused("it has moved".to_owned()));
        }
        let next = known.after(event).map_err(|e| StoreError::Refused(e.to_string()))?;
        events.push(event.clone());
        *known = next.clone();
        if event.kind == EventKind::Intended {
            kept.asked.push((event.at_ms, case.case_id));
        }
        if next.state.is_over() {
            kept.open.remove(&next.allocation_id);
        }
        Ok(next)
    }

    fn past(&self, from_ms: i64) -> Result<Vec<Past>, StoreError> {
        let kept = self.0.lock().expect("the store");
        let mut first: BTreeMap<i64, i64> = BTreeMap::new();
        for (at, id) in kept.asked.iter().rev().take_while(|(at, _)| *at > from_ms) {
            first.insert(*id, *at);
        }
        Ok(first.into_iter().map(|(id, at)| past_of(at, &kept.cases[&id].0)).collect())
    }

    fn switches(&self) -> Result<Switches, StoreError> {
        Ok(self.0.lock().expect("the store").switches.clone())
    }

    fn trip(&mut self, _: i64, why: &str) -> Result<(), StoreError> {
        self.0.lock().expect("the store").switches.breaker = Some(why.to_owned());
        Ok(())
    }

    fn keep_policy(&mut self, _: &str, _: i64, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn keep_plan(&mut self, _: &str, _: i64, _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn is_news(&mut self, name: &str, text: &str, now_ms: i64) -> Result<bool, StoreError> {
        let mut kept = self.0.lock().expect("the store");
        let known = kept.news.get(name).is_some_and(|(t, at)| t == text && now_ms - at < 86_400_000);
        if !known {
            kept.news.insert(name.to_owned(), (text.to_owned(), now_ms));
        }
        Ok(!known)
    }

    fn not_told(&mut self, name: &str) -> Result<(), StoreError> {
        self.0.lock().expect("the store").news.remove(name);
        Ok(())
    }
}
