//! A policy over the past: which cases it would have made. Every notice counts as delivered and nobody answers; nothing is asked of a
//! scheduler, so that what is `due` stays there until it works again or ends. Nothing of it reaches the store.

use std::collections::BTreeMap;

use gpuledger_schema::reclaim::{Case, CaseEvent, EventKind, Mode, Snapshot};

use crate::plan::{Doing, Notice, plan};
use crate::policy::Book;

/// Who the backtest is in events.
const BACKTEST: &str = "backtest";

/// Cases of a backtest, over and open, in the order in which they were opened.
#[derive(Debug, Default)]
pub struct Backtest {
    open: BTreeMap<i64, Case>,
    /// Cases that are over.
    pub over: Vec<Case>,
}

impl Backtest {
    /// One look of the past, in order of time.
    pub fn look(&mut self, mut snapshot: Snapshot, book: &Book) {
        snapshot.mode = Mode::Past;
        snapshot.cases = self.open.values().cloned().collect();
        snapshot.policy_hash.clone_from(&book.hash);
        snapshot.switches.notify = true;
        let at_ms = snapshot.at_ms;
        let made = plan(&snapshot, &Book { notify: true, ..book.clone() }, at_ms);
        for step in &made.body.steps {
            let of = |kind| CaseEvent::of(at_ms, BACKTEST, kind);
            let event = match &step.doing {
                Doing::Open { class, policy, deadline_ms, rest_from_ms } => {
                    let found = snapshot.allocations.iter().find(|a| a.allocation_id == step.allocation_id);
                    let facts = found.and_then(|a| serde_json::to_string(a).ok()).unwrap_or_default();
                    let event =
                        CaseEvent { deadline_ms: *deadline_ms, rest_from_ms: *rest_from_ms, ..of(EventKind::Opened) };
                    let case = Case::opened(step.allocation_id, *class, policy, facts, &event);
                    self.open.insert(case.case_id, case);
                    continue;
                }
                Doing::Tell { notice: Notice::Last, deadline_ms } => {
                    CaseEvent { deadline_ms: *deadline_ms, ..of(EventKind::FinalWarned) }
                }
                Doing::Tell { deadline_ms, .. } => CaseEvent { deadline_ms: *deadline_ms, ..of(EventKind::Warned) },
                Doing::Due => of(EventKind::DuePassed),
                Doing::Postpone { deadline_ms, rest_from_ms } => CaseEvent {
                    deadline_ms: *deadline_ms,
                    rest_from_ms: Some(*rest_from_ms),
                    ..of(EventKind::Postponed)
                },
                Doing::Recover { .. } => of(EventKind::Recovered),
                Doing::Freed { .. } => of(EventKind::Freed),
                Doing::Escalate { .. } => of(EventKind::Escalated),
                _ => continue,
            };
            self.moved(step.case_id, &event);
        }
    }

    fn moved(&mut self, case_id: Option<i64>, event: &CaseEvent) {
        let Some(case) = case_id.and_then(|id| self.open.remove(&id)) else { return };
        // a plan only makes moves of the list; what is none leaves the case as it was
        let next = case.after(event).unwrap_or(case);
        if next.state.is_over() {
            self.over.push(next);
        } else {
            self.open.insert(next.case_id, next);
        }
    }

    /// Allocations of open cases, and since when they are known to be at rest, epoch ms: what the next look goes on from.
    pub fn known(&self) -> Vec<(i64, i64)> {
        self.open.values().filter_map(|c| c.rest_from_ms.map(|from| (c.allocation_id, from))).collect()
    }

    /// Every case, by when it was opened.
    pub fn cases(&self) -> Vec<&Case> {
        let mut out: Vec<&Case> = self.over.iter().chain(self.open.values()).collect();
        out.sort_by_key(|c| (c.opened_ms, c.case_id));
        out
    }
}
