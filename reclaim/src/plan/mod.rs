//! The plan: what one round would do, and why it leaves the rest alone. A pure function of snapshot, policy and time.
//!
//! A plan is a document: it is made once, carries the hash of what it says, and leaves nothing to choose to whoever applies it.

mod act;
mod bound;
mod ground;
mod move_case;
mod open;

use std::collections::BTreeMap;

use gpuledger_schema::hash::sha256_hex;
use gpuledger_schema::reclaim::{
    ActKind, AlertKind, Allocation, Case, Class, Identity, Mode, NotDone, Snapshot, StopKind,
};
use serde::{Deserialize, Serialize};

pub use bound::Used;

use crate::policy::Book;

/// Which notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The first warning.
    First,
    /// The last warning.
    Last,
    /// A question: nothing is done without the answer.
    Question,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Doing {
    /// Opens a case. Nobody is told.
    Open {
        /// Kind of waste.
        class: Class,
        /// Policy that it goes by.
        policy: String,
        /// When it is due, epoch ms; absent: never by itself.
        deadline_ms: Option<i64>,
        /// Since when it has been at rest, epoch ms.
        rest_from_ms: Option<i64>,
    },
    /// Tells the owner; the case moves once that is delivered.
    Tell {
        /// Which notice.
        notice: Notice,
        /// The deadline that it names, epoch ms.
        deadline_ms: Option<i64>,
    },
    /// The deadline has passed.
    Due,
    /// Approved by the policy, or by whoever approved before it was due.
    Approve,
    /// The clock started again.
    Postpone {
        /// The deadline from now on, epoch ms.
        deadline_ms: Option<i64>,
        /// Since when it has been at rest, epoch ms.
        rest_from_ms: i64,
    },
    /// What kept it is over.
    Resume,
    /// It worked for a whole window.
    Recover {
        /// Since when, epoch ms.
        active_from_ms: i64,
    },
    /// Asks for a checkpoint.
    Signal {
        /// Signal.
        signal: String,
        /// Whether to the batch script.
        to_batch: bool,
    },
    /// Asks the scheduler to free it.
    Order {
        /// How.
        act: ActKind,
        /// `Nice` of a job that is put back.
        resume_nice: Option<i64>,
    },
    /// Its GPUs were seen free.
    Freed {
        /// At what instant, epoch ms.
        seen_ms: i64,
    },
    /// What was asked has not worked.
    Fail {
        /// Why.
        why: String,
        /// When it is tried again, epoch ms.
        retry_ms: i64,
    },
    /// A person has to look.
    Escalate {
        /// Why, and what to do.
        why: String,
    },
    /// Exempt by the policy.
    Exempt {
        /// Why.
        reason: String,
        /// Until, epoch ms.
        until_ms: Option<i64>,
    },
}

impl Doing {
    /// Whether a scheduler is asked for something.
    pub fn is_act(&self) -> bool {
        matches!(self, Self::Signal { .. } | Self::Order { .. })
    }
}

/// A step of a plan: complete, so that nothing is left to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The case; absent: it is opened.
    pub case_id: Option<i64>,
    /// Its newest event when this was planned.
    pub seq: i64,
    /// The allocation.
    pub allocation_id: i64,
    /// Who it was.
    pub identity: Identity,
    /// What people call it.
    pub shown: String,
    /// Team.
    pub team: String,
    /// Nodes.
    pub nodes: Vec<String>,
    /// What.
    pub doing: Doing,
}

/// Something that stops the engine, in part or altogether.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// What.
    pub kind: StopKind,
    /// In words.
    pub why: String,
}

/// Something that was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// The case, where there is one.
    pub case_id: Option<i64>,
    /// The allocation.
    pub allocation_id: i64,
    /// What people call it.
    pub shown: String,
    /// Why.
    pub why: NotDone,
    /// In words.
    pub detail: String,
}

/// Something people are told without a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// What.
    pub kind: AlertKind,
    /// About which allocation.
    pub allocation_id: Option<i64>,
    /// In words, with what to do.
    pub text: String,
}

/// What a plan says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanBody {
    /// When it was made, epoch ms.
    pub made_ms: i64,
    /// Of now, or of the past.
    pub mode: Mode,
    /// Hash of the policy.
    pub policy_hash: String,
    /// Hash of the snapshot.
    pub snapshot_hash: String,
    /// What stops it.
    pub stops: Vec<Stop>,
    /// What it does, in order.
    pub steps: Vec<Step>,
    /// What it leaves alone.
    pub left: Vec<Left>,
    /// What people are told.
    pub alerts: Vec<Alert>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// SHA-256 of the body as JSON, in hex.
    pub hash: String,
    /// What it says.
    pub body: PlanBody,
}

impl Plan {
    /// A plan of a body.
    pub fn of(body: PlanBody) -> Self {
        Self { hash: hash_of(&body), body }
    }

    /// Whether it still says what it said when it was made.
    pub fn is_whole(&self) -> bool {
        self.hash == hash_of(&self.body)
    }
}

/// SHA-256 of a value as JSON, in hex. Fields stand in the order of their types, so that equal values have equal hashes.
pub fn hash_of<T: Serialize>(value: &T) -> String {
    // types of this crate have no maps with keys that JSON cannot hold, which is all that could fail
    sha256_hex(&serde_json::to_vec(value).unwrap_or_default())
}

/// Why something is left alone.
type Why = (NotDone, String);

/// What a round goes by.
struct Round<'a> {
    snapshot: &'a Snapshot,
    book: &'a Book,
    now_ms: i64,
    stops: Vec<Stop>,
    by_id: BTreeMap<i64, &'a Allocation>,
}

/// What this round would do.
pub fn plan(snapshot: &Snapshot, book: &Book, now_ms: i64) -> Plan {
    let by_id: BTreeMap<i64, &Allocation> = snapshot.allocations.iter().map(|a| (a.allocation_id, a)).collect();
    let mut round = Round { snapshot, book, now_ms, stops: Vec::new(), by_id };
    let open_on: BTreeMap<i64, &Case> = snapshot.cases.iter().map(|c| (c.allocation_id, c)).collect();
    let new: Vec<&Allocation> =
        round.by_id.values().copied().filter(|a| !open_on.contains_key(&a.allocation_id)).collect();
    let would_open = new.iter().filter(|a| round.opens(a).is_ok_and(|d| bound::is_newly_idle(&d))).count();
    round.stops = round.find_stops(i64::try_from(would_open).unwrap_or(i64::MAX));
    let mut body = PlanBody {
        made_ms: now_ms,
        mode: snapshot.mode,
        policy_hash: book.hash.clone(),
        snapshot_hash: hash_of(snapshot),
        stops: round.stops.clone(),
        steps: Vec::new(),
        left: Vec::new(),
        alerts: round.alerts(),
    };
    let mut acts = Vec::new();
    for case in &snapshot.cases {
        match round.moves(case) {
            Ok(doing) if doing.is_act() => acts.push((case, doing)),
            Ok(doing) => body.steps.push(round.step(case, doing)),
            Err(why) => body.left.push(round.left_case(case, why)),
        }
    }
    for a in new {
        match round.opens(a).and_then(|doing| round.unstopped(&doing).map(|()| doing)) {
            Ok(doing) => body.steps.push(step_of(a, None, 0, doing)),
            Err((why, detail)) => body.left.push(Left {
                case_id: None,
                allocation_id: a.allocation_id,
                shown: a.identity.shown(),
                why,
                detail,
            }),
        }
    }
    round.within_caps(acts, &mut body);
    Plan::of(body)
}

fn step_of(a: &Allocation, case_id: Option<i64>, seq: i64, doing: Doing) -> Step {
    Step {
        case_id,
        seq,
        allocation_id: a.allocation_id,
        identity: a.identity.clone(),
        shown: a.identity.shown(),
        team: a.owner.team.clone(),
        nodes: a.nodes.clone(),
        doing,
    }
}

/// The allocation of a case as it was when the case was opened.
pub(crate) fn facts(case: &Case) -> Option<Allocation> {
    serde_json::from_str(&case.facts).ok()
}

impl Round<'_> {
    fn step(&self, case: &Case, doing: Doing) -> Step {
        match facts(case) {
            Some(a) => step_of(&a, Some(case.case_id), case.seq, doing),
            None => Step {
                case_id: Some(case.case_id),
                seq: case.seq,
                allocation_id: case.allocation_id,
                identity: Identity::Process {
                    node: String::new(),
                    boot: String::new(),
                    pid: None,
                    start_ticks: None,
                    start_ms: case.opened_ms,
                },
                shown: format!("case {}", case.case_id),
                team: String::new(),
                nodes: Vec::new(),
                doing,
            },
        }
    }

    fn left_case(&self, case: &Case, (why, detail): Why) -> Left {
        let shown = facts(case).map_or_else(|| format!("case {}", case.case_id), |a| a.identity.shown());
        Left { case_id: Some(case.case_id), allocation_id: case.allocation_id, shown, why, detail }
    }
}
