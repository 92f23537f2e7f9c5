//! Taking one step, after it has been checked.

use gpuledger_schema::reclaim::{AlertKind, Allocation, Case, CaseEvent, EventKind, Phase, Snapshot};

use super::{Engine, Outcome};
use crate::letter;
use crate::plan::{Alert, Doing, Notice, Step, facts};
use crate::port::{ActError, Actuator, Notifier, Said, Store, World};

/// Who the engine is in what it writes.
const ENGINE: &str = "engine";

impl<W: World, A: Actuator, N: Notifier, S: Store> Engine<W, A, N, S> {
    pub(super) async fn take(&mut self, fence: i64, step: &Step, now: &Snapshot, at_ms: i64) -> Outcome {
        let Some(case_id) = step.case_id else { return self.open(fence, step, now, at_ms) };
        let Some(case) = now.cases.iter().find(|c| c.case_id == case_id) else {
            return Outcome::Refused("plan: there is no such open case".to_owned());
        };
        let event = |kind| CaseEvent::of(at_ms, ENGINE, kind);
        match &step.doing {
            Doing::Open { .. } => Outcome::Refused("plan: a case is opened once".to_owned()),
            Doing::Tell { notice, deadline_ms } => self.send(fence, case, now, *notice, *deadline_ms).await,
            Doing::Due => self.keep(fence, case, &event(EventKind::DuePassed)),
            Doing::Approve => {
                let actor = case.approved_by.clone().unwrap_or_else(|| "policy".to_owned());
                self.keep(fence, case, &CaseEvent::of(at_ms, &actor, EventKind::Approved))
            }
            Doing::Postpone { deadline_ms, rest_from_ms } => {
                let e = event(EventKind::Postponed);
                self.keep(fence, case, &CaseEvent { deadline_ms: *deadline_ms, rest_from_ms: Some(*rest_from_ms), ..e })
            }
            Doing::Resume => self.keep(fence, case, &event(EventKind::Resumed)),
            Doing::Recover { .. } => self.keep(fence, case, &event(EventKind::Recovered)),
            Doing::Exempt { reason, until_ms } => {
                let e = event(EventKind::Exempted);
                self.keep(fence, case, &CaseEvent { reason: Some(reason.clone()), until_ms: *until_ms, ..e })
            }
            Doing::Fail { why, retry_ms } => self.failed(fence, case, why, Some(*retry_ms)),
            Doing::Escalate { why } => {
                let e = event(EventKind::Escalated);
                let kept = self.keep(fence, case, &CaseEvent { reason: Some(why.clone()), ..e });
                let text = format!("{}: {why}", step.shown);
                let alert = Alert { kind: AlertKind::NeedsOperator, allocation_id: Some(step.allocation_id), text };
                if let Err(e) = self.tell(alert).await {
                    tracing::error!(error = %e, "an operator was not told");
                }
                kept
            }
            Doing::Freed { seen_ms } => self.freed(fence, case, *seen_ms, at_ms).await,
            Doing::Signal { .. } | Doing::Order { .. } => self.act(fence, step, case, now).await,
        }
    }

    fn keep(&mut self, fence: i64, case: &Case, event: &CaseEvent) -> Outcome {
        match self.store.move_case(Some(fence), case, event) {
            Ok(_) => Outcome::Done,
            Err(e) => Outcome::NotKept(e.to_string()),
        }
    }

    fn open(&mut self, fence: i64, step: &Step, now: &Snapshot, at_ms: i64) -> Outcome {
        let Doing::Open { class, policy, deadline_ms, rest_from_ms } = &step.doing else {
            return Outcome::Refused("plan: a step about a case names none".to_owned());
        };
        let Some(a) = now.allocations.iter().find(|a| a.allocation_id == step.allocation_id) else {
            return Outcome::Refused("R3: it is not there".to_owned());
        };
        let Ok(facts) = serde_json::to_string(a) else {
            return Outcome::NotKept("its facts cannot be written".to_owned());
        };
        let event = CaseEvent {
            deadline_ms: *deadline_ms,
            rest_from_ms: *rest_from_ms,
            proof: Some(letter::evidence(a)),
            ..CaseEvent::of(at_ms, ENGINE, EventKind::Opened)
        };
        let case = Case::opened(a.allocation_id, *class, policy, facts, &event);
        match self.store.open(fence, &case, &event) {
            Ok(()) => Outcome::Done,
            Err(e) => Outcome::NotKept(e.to_string()),
        }
    }

    /// A notice: the case moves when the other side has taken it, and not before.
    async fn send(
        &mut self,
        fence: i64,
        case: &Case,
        now: &Snapshot,
        which: Notice,
        deadline_ms: Option<i64>,
    ) -> Outcome {
        let a = now.allocations.iter().find(|a| a.allocation_id == case.allocation_id);
        let settings = self.book.named(&case.policy, self.clock.now_ms()).map(|p| p.settings.clone());
        let letter = a.zip(settings).and_then(|(a, s)| letter::notice(case, a, which, deadline_ms, &s));
        let Some(letter) = letter else { return Outcome::Failed("nobody can be told".to_owned()) };
        let delivery = match self.notifier.send(&letter).await {
            Ok(delivery) => delivery,
            Err(e) => return Outcome::Failed(e.to_string()),
        };
        let kind = if which == Notice::Last { EventKind::FinalWarned } else { EventKind::Warned };
        let event = CaseEvent {
            deadline_ms,
            proof: Some(format!("{} to {}", delivery.proof, delivery.to)),
            ..CaseEvent::of(self.clock.now_ms(), ENGINE, kind)
        };
        self.keep(fence, case, &event)
    }

    async fn freed(&mut self, fence: i64, case: &Case, seen_ms: i64, at_ms: i64) -> Outcome {
        let proof = format!("seen free at {}", crate::text::utc(seen_ms));
        let event = CaseEvent { proof: Some(proof), ..CaseEvent::of(at_ms, ENGINE, EventKind::Freed) };
        let kept = self.keep(fence, case, &event);
        // nobody is told that something was ended before it is true
        if kept == Outcome::Done
            && case.order_ms.is_some()
            && let Some(a) = facts(case)
            && let Some(settings) = self.book.named(&case.policy, at_ms).map(|p| p.settings.clone())
            && let Some(letter) = letter::freed(case, &a, seen_ms, &settings)
            && let Err(e) = self.notifier.send(&letter).await
        {
            tracing::warn!(error = %e, case = case.case_id, "the letter after freeing was not taken");
        }
        kept
    }

    fn failed(&mut self, fence: i64, case: &Case, why: &str, until_ms: Option<i64>) -> Outcome {
        let event = CaseEvent {
            reason: Some(why.to_owned()),
            until_ms,
            ..CaseEvent::of(self.clock.now_ms(), ENGINE, EventKind::Failed)
        };
        match self.keep(fence, case, &event) {
            Outcome::Done => Outcome::Failed(why.to_owned()),
            other => other,
        }
    }

    /// Asks a scheduler, once: what is meant is written before, what was answered after.
    async fn act(&mut self, fence: i64, step: &Step, case: &Case, now: &Snapshot) -> Outcome {
        let Some(a) = now.allocations.iter().find(|a| a.allocation_id == step.allocation_id).cloned() else {
            return Outcome::Refused("R3: it is not there".to_owned());
        };
        let retry_ms = self.book.named(&case.policy, self.clock.now_ms()).map(|p| p.settings.retry_ms);
        let phase = if matches!(step.doing, Doing::Signal { .. }) { Phase::Signal } else { Phase::Order };
        let meant = CaseEvent {
            phase: Some(phase),
            reason: letter::act_in(&step.doing).map(|a| a.to_string()),
            proof: Some(letter::evidence(&a)),
            ..CaseEvent::of(self.clock.now_ms(), ENGINE, EventKind::Intended)
        };
        let case = match self.store.move_case(Some(fence), case, &meant) {
            Ok(case) => case,
            Err(e) => return Outcome::NotKept(e.to_string()),
        };
        let said = self.ask(&a, &step.doing).await;
        let at_ms = self.clock.now_ms();
        let event = |kind| CaseEvent { phase: Some(phase), ..CaseEvent::of(at_ms, ENGINE, kind) };
        let retry_at = retry_ms.map(|pause| at_ms + pause);
        match said {
            Ok(Said::Taken { proof }) => {
                self.keep(fence, &case, &CaseEvent { proof: Some(proof), ..event(EventKind::Asked) })
            }
            Ok(Said::Wait { pause_ms, why }) => {
                let e = event(EventKind::Waiting);
                self.keep(fence, &case, &CaseEvent { until_ms: Some(at_ms + pause_ms), reason: Some(why), ..e })
            }
            Ok(Said::Changed { why }) => self.failed(fence, &case, &format!("changed: {why}"), retry_at),
            Err(ActError::NotDone(why)) => self.failed(fence, &case, &why, retry_at),
            // nobody knows: what becomes of it is seen, and nobody is asked again before
            Err(ActError::Maybe(why)) => {
                tracing::warn!(why, case = case.case_id, "nobody can say whether the scheduler was asked");
                Outcome::Done
            }
        }
    }

    async fn ask(&mut self, a: &Allocation, doing: &Doing) -> Result<Said, ActError> {
        match doing {
            Doing::Signal { signal, to_batch } => self.actuator.signal(a, signal, *to_batch).await,
            Doing::Order { act, resume_nice } => self.actuator.order(a, *act, *resume_nice).await,
            _ => Err(ActError::NotDone("nothing is asked".to_owned())),
        }
    }
}
