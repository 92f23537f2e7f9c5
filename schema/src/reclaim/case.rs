//! A case and its moves. What is stored are events; a case is what they come to, and a move that is not in the list is none.

use serde::{Deserialize, Serialize};

use super::CaseState::{
    Acting, ActiveAgain, Approved, Due, Exempt, Failed, Final, Freed, Kept, NeedsOperator, Observed, Warned,
};
use super::{CaseState, Class, EventKind, Phase};
use crate::id::id63;

/// Everything that is not over and not under way.
const WAITING: &[CaseState] = &[Observed, Warned, Final, Due, Approved, Failed, NeedsOperator, Kept, Exempt];
/// Everything that is not over.
const OPEN: &[CaseState] = &[Observed, Warned, Final, Due, Approved, Acting, Failed, NeedsOperator, Kept, Exempt];

/// The moves: what may happen in which states, and the state it leads to. No state: it stays as it is.
/// [`EventKind::Opened`] begins a case, and [`EventKind::Bounced`] leads back to before the notice that it is about.
pub const MOVES: &[(EventKind, &[CaseState], Option<CaseState>)] = &[
    (EventKind::Warned, &[Observed], Some(Warned)),
    (EventKind::FinalWarned, &[Warned], Some(Final)),
    (EventKind::Bounced, &[Warned, Final, Due, Approved], None),
    (EventKind::Postponed, WAITING, None),
    (EventKind::DuePassed, &[Final], Some(Due)),
    (EventKind::Approved, &[Due, NeedsOperator, Failed], Some(Approved)),
    (EventKind::Approved, &[Observed, Warned, Final], None),
    (EventKind::Released, &[Observed, Warned, Final, Due, NeedsOperator, Kept, Failed], Some(Approved)),
    (EventKind::Kept, &[Observed, Warned, Final, Due, Approved, Kept], Some(Kept)),
    (EventKind::Normal, &[Observed, Warned, Final, Due, Approved, Kept], Some(Kept)),
    (EventKind::Exempted, WAITING, Some(Exempt)),
    (EventKind::Held, WAITING, None),
    (EventKind::Resumed, &[Kept, Exempt], Some(Observed)),
    (EventKind::Resumed, &[Observed, Warned, Final, Due, Approved, Failed, NeedsOperator], None),
    (EventKind::Intended, &[Approved, Failed, Acting], Some(Acting)),
    (EventKind::Asked, &[Acting], Some(Acting)),
    (EventKind::Waiting, &[Acting], Some(Acting)),
    (EventKind::Failed, &[Acting], Some(Failed)),
    (EventKind::Escalated, OPEN, Some(NeedsOperator)),
    (EventKind::Freed, OPEN, Some(Freed)),
    (EventKind::Recovered, WAITING, Some(ActiveAgain)),
];

/// A move that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a case that is {state} cannot be {event}")]
pub struct WrongMove {
    /// The state the case is in.
    pub state: CaseState,
    /// What was to happen.
    pub event: EventKind,
}

/// Something that happened to a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseEvent {
    /// When, epoch ms.
    pub at_ms: i64,
    /// Who: `engine`, or a person.
    pub actor: String,
    /// What.
    pub kind: EventKind,
    /// The deadline from now on, epoch ms.
    pub deadline_ms: Option<i64>,
    /// Since when it has been at rest, epoch ms.
    pub rest_from_ms: Option<i64>,
    /// Until when (kept, exempt, held, waiting), epoch ms; absent: open.
    pub until_ms: Option<i64>,
    /// Which part of an action; of a bounce: `signal` for the first warning, `order` for the last.
    pub phase: Option<Phase>,
    /// Why, in words.
    pub reason: Option<String>,
    /// What proves it: an answer of a mail server, what a command printed, a reading.
    pub proof: Option<String>,
}

impl CaseEvent {
    /// An event with nothing but when, who and what.
    pub fn of(at_ms: i64, actor: &str, kind: EventKind) -> Self {
        Self {
            at_ms,
            actor: actor.to_owned(),
            kind,
            deadline_ms: None,
            rest_from_ms: None,
            until_ms: None,
            phase: None,
            reason: None,
            proof: None,
        }
    }
}

/// A case, as its events have made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Id of allocation, class and opening.
    pub case_id: i64,
    /// The allocation that it is about.
    pub allocation_id: i64,
    /// What kind of waste.
    pub class: Class,
    /// When it was opened, epoch ms.
    pub opened_ms: i64,
    /// Name of the policy that it goes by.
    pub policy: String,
    /// The allocation at the opening, as JSON: who it is and what was seen.
    pub facts: String,
    /// Number of its newest event, from 1.
    pub seq: i64,
    /// State.
    pub state: CaseState,
    /// Since when it has been in that state, epoch ms.
    pub since_ms: i64,
    /// When it is due, epoch ms; absent: it never is by itself.
    pub deadline_ms: Option<i64>,
    /// Since when it has been at rest, epoch ms.
    pub rest_from_ms: Option<i64>,
    /// When the first warning was delivered, epoch ms.
    pub warned_ms: Option<i64>,
    /// When the last warning was delivered, epoch ms.
    pub final_ms: Option<i64>,
    /// Warnings that bounced.
    pub bounces: i64,
    /// Who approved.
    pub approved_by: Option<String>,
    /// Whether its owner wants it back.
    pub released: bool,
    /// Whether its owner says that it is as it should be.
    pub normal: bool,
    /// Until when it is kept, exempt or waits, epoch ms.
    pub until_ms: Option<i64>,
    /// Why an operator holds it.
    pub held: Option<String>,
    /// When a checkpoint was asked for, epoch ms.
    pub signal_ms: Option<i64>,
    /// When it was asked for, epoch ms.
    pub order_ms: Option<i64>,
    /// The part of the action that was last intended and has not been answered.
    pub open_phase: Option<Phase>,
    /// How often acting on it failed.
    pub failures: i64,
}

impl Case {
    /// The id of a case.
    pub fn id(allocation_id: i64, class: Class, opened_ms: i64) -> i64 {
        id63("case", &[&allocation_id.to_string(), class.as_str(), &opened_ms.to_string()])
    }

    /// A case that was just opened.
    pub fn opened(allocation_id: i64, class: Class, policy: &str, facts: String, event: &CaseEvent) -> Self {
        Self {
            case_id: Self::id(allocation_id, class, event.at_ms),
            allocation_id,
            class,
            opened_ms: event.at_ms,
            policy: policy.to_owned(),
            facts,
            seq: 1,
            state: Observed,
            since_ms: event.at_ms,
            deadline_ms: event.deadline_ms,
            rest_from_ms: event.rest_from_ms,
            warned_ms: None,
            final_ms: None,
            bounces: 0,
            approved_by: None,
            released: false,
            normal: false,
            until_ms: None,
            held: None,
            signal_ms: None,
            order_ms: None,
            open_phase: None,
            failures: 0,
        }
    }

    /// The case after an event.
    ///
    /// # Errors
    /// Where the move is not in [`MOVES`].
    pub fn after(&self, event: &CaseEvent) -> Result<Self, WrongMove> {
        let wrong = WrongMove { state: self.state, event: event.kind };
        let found = MOVES.iter().find(|(kind, from, _)| *kind == event.kind && from.contains(&self.state));
        let (_, _, to) = found.ok_or(wrong)?;
        // what is released is the hold, and not what stands behind it
        let unheld = event.kind == EventKind::Resumed && self.held.is_some();
        let to = if unheld { None } else { *to };
        let mut next = self.clone();
        next.seq += 1;
        next.deadline_ms = event.deadline_ms.or(next.deadline_ms);
        next.rest_from_ms = event.rest_from_ms.or(next.rest_from_ms);
        next.told(event);
        let state = if event.kind == EventKind::Bounced { next.returned(event) } else { to.unwrap_or(self.state) };
        if state != self.state {
            next.state = state;
            next.since_ms = event.at_ms;
        }
        Ok(next)
    }

    /// Takes what an event says beyond the state.
    fn told(&mut self, event: &CaseEvent) {
        match event.kind {
            EventKind::Warned => self.warned_ms = Some(event.at_ms),
            EventKind::FinalWarned => self.final_ms = Some(event.at_ms),
            EventKind::Approved => self.approved_by = Some(event.actor.clone()),
            EventKind::Released => {
                self.approved_by = Some(event.actor.clone());
                self.released = true;
            }
            EventKind::Kept | EventKind::Normal | EventKind::Exempted => {
                self.until_ms = event.until_ms;
                self.normal = event.kind == EventKind::Normal;
                self.approved_by = None;
                self.released = false;
            }
            EventKind::Held => self.held = event.reason.clone().or_else(|| Some(String::new())),
            EventKind::Resumed if self.held.is_some() => self.held = None,
            EventKind::Resumed => self.from_the_beginning(),
            EventKind::Intended => self.intended(event),
            EventKind::Asked => self.open_phase = None,
            EventKind::Waiting => {
                self.open_phase = None;
                self.until_ms = event.until_ms;
            }
            EventKind::Failed => {
                self.failures += 1;
                self.open_phase = None;
                self.until_ms = event.until_ms;
            }
            _ => {}
        }
    }

    fn intended(&mut self, event: &CaseEvent) {
        self.open_phase = event.phase;
        self.until_ms = None;
        match event.phase {
            Some(Phase::Signal) => self.signal_ms = Some(event.at_ms),
            Some(Phase::Order) => self.order_ms = Some(event.at_ms),
            None => {}
        }
    }

    /// Nobody has been told of what begins again.
    fn from_the_beginning(&mut self) {
        self.warned_ms = None;
        self.final_ms = None;
        self.until_ms = None;
        self.normal = false;
        self.approved_by = None;
        self.released = false;
    }

    /// Back to before the notice that did not arrive.
    fn returned(&mut self, event: &CaseEvent) -> CaseState {
        self.bounces += 1;
        self.final_ms = None;
        self.approved_by = None;
        if event.phase == Some(Phase::Order) && self.warned_ms.is_some() {
            return Warned;
        }
        self.warned_ms = None;
        Observed
    }
}
