//! Applying a plan: each step on its own, against the world as it is at that moment, written down before and after.
//!
//! What is written before an action says that it is meant; what is written after says what was answered. A crash between the two
//! leaves a case in `acting`, and the next round looks at the world and asks nobody twice.

mod step;

use std::sync::Arc;

use gpuledger_schema::reclaim::{AlertKind, Mode, Snapshot, StopKind};

use crate::check::{Refusal, check, refuse};
use crate::plan::{Alert, Doing, Plan, Step, plan};
use crate::policy::Book;
use crate::port::{Actuator, Clock, Notifier, Store, StoreError, Unreachable, World};

/// How long a lead lasts without a round, ms.
pub const LEASE_MS: i64 = 120_000;
/// A plan is not applied when it is older than this, ms.
pub const PLAN_AGE_MS: i64 = 300_000;
/// What caps count over, ms.
const HOUR_MS: i64 = 3_600_000;

/// Everything outside, and the policy.
pub struct Engine<W, A, N, S> {
    /// The world.
    pub world: W,
    /// The schedulers.
    pub actuator: A,
    /// The mail.
    pub notifier: N,
    /// The store.
    pub store: S,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The policy.
    pub book: Book,
}

impl<W, A, N, S> std::fmt::Debug for Engine<W, A, N, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("policy", &self.book.hash).finish_non_exhaustive()
    }
}

/// Why a round did nothing.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// Something could not be looked at.
    #[error(transparent)]
    World(#[from] Unreachable),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another server leads.
    #[error("another server leads")]
    NotLeader,
    /// The plan is one of the past, or is too old.
    #[error("the plan cannot be applied: {0}")]
    Plan(&'static str),
    /// The checker refuses the whole plan.
    #[error("the plan is refused: {}", list(.0))]
    Refused(Vec<Refusal>),
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and written down.
    Done,
    /// Refused by the world as it was at its moment.
    Refused(String),
    /// It did not work; the case says so.
    Failed(String),
    /// It was not written down, so that it counts as not done.
    NotKept(String),
}

/// What a round did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The plan.
    pub plan: Plan,
    /// What became of each step.
    pub outcomes: Vec<Outcome>,
}

impl<W: World, A: Actuator, N: Notifier, S: Store> Engine<W, A, N, S> {
    /// One round: look, plan, check, apply.
    ///
    /// # Errors
    /// Where nothing was done at all, and why.
    pub async fn round(&mut self) -> Result<Applied, RoundError> {
        let plan = self.plan().await?;
        self.apply(plan).await
    }

    /// Looks and plans; changes nothing.
    ///
    /// # Errors
    /// Where the world or the store could not be looked at.
    pub async fn plan(&mut self) -> Result<(Plan, Snapshot), RoundError> {
        let snapshot = self.look().await?;
        let plan = plan(&snapshot, &self.book, self.clock.now_ms());
        Ok((plan, snapshot))
    }

    /// Applies a plan that was made of a snapshot. Every step is checked again against the world as it is then.
    ///
    /// # Errors
    /// Where nothing was done at all, and why.
    pub async fn apply(&mut self, (plan, snapshot): (Plan, Snapshot)) -> Result<Applied, RoundError> {
        let now_ms = self.clock.now_ms();
        if plan.body.mode != Mode::Live {
            return Err(RoundError::Plan("what was planned of the past moves no case"));
        }
        if (now_ms - plan.body.made_ms).abs() > PLAN_AGE_MS {
            return Err(RoundError::Plan("it is too old"));
        }
        let Some(fence) = self.store.lead(now_ms, LEASE_MS)? else { return Err(RoundError::NotLeader) };
        let refused = check(&plan, &snapshot, &self.book);
        if !refused.is_empty() {
            let text = format!("the checker refused a plan: {}", list(&refused));
            self.tell(Alert { kind: AlertKind::Stopped, allocation_id: None, text }).await?;
            return Err(RoundError::Refused(refused));
        }
        if !plan.body.steps.is_empty() {
            let body = serde_json::to_string(&plan.body).unwrap_or_default();
            self.store.keep_policy(&self.book.hash, now_ms, &self.book.text)?;
            self.store.keep_plan(&plan.hash, plan.body.made_ms, &body)?;
        }
        self.trip(&plan).await?;
        for alert in plan.body.alerts.clone() {
            self.tell(alert).await?;
        }
        let mut outcomes = Vec::new();
        let mut acts = 0;
        for step in &plan.body.steps {
            let outcome = self.step(fence, step, &mut acts).await;
            if let Outcome::Failed(why) | Outcome::NotKept(why) = &outcome {
                let text = format!("{}: {why}", step.shown);
                let kind = if matches!(step.doing, Doing::Tell { .. }) {
                    AlertKind::NotDelivered
                } else {
                    AlertKind::ActionFailed
                };
                self.tell(Alert { kind, allocation_id: Some(step.allocation_id), text }).await?;
            }
            outcomes.push(outcome);
        }
        Ok(Applied { plan, outcomes })
    }

    /// The world as it is now, with what the store knows.
    async fn look(&mut self) -> Result<Snapshot, RoundError> {
        let mut snapshot = self.world.look().await?;
        snapshot.cases = self.store.open_cases()?;
        snapshot.switches = self.store.switches()?;
        snapshot.past = self.store.past(self.clock.now_ms() - HOUR_MS)?;
        snapshot.policy_hash.clone_from(&self.book.hash);
        Ok(snapshot)
    }

    /// A step against the world as it is now.
    async fn step(&mut self, fence: i64, step: &Step, acts: &mut i64) -> Outcome {
        let now = match self.look().await {
            Ok(now) => now,
            Err(e) => return Outcome::Refused(format!("the world could not be looked at: {e}")),
        };
        let at_ms = self.clock.now_ms();
        // what this round has asked is in the store's past by now; only the cap of the round is counted here
        let counted = step.doing.is_act();
        if counted && *acts >= self.book.caps.per_round {
            return Outcome::Refused("R2: a cap is used up".to_owned());
        }
        if let Err((rule, why)) = refuse(step, &now, &self.book, at_ms, &[]) {
            return Outcome::Refused(format!("{rule}: {why}"));
        }
        *acts += i64::from(counted);
        match self.store.lead(at_ms, LEASE_MS) {
            Ok(Some(held)) if held == fence => {}
            _ => return Outcome::NotKept("another server leads".to_owned()),
        }
        self.take(fence, step, &now, at_ms).await
    }

    /// What trips the breaker holds until somebody resets it.
    async fn trip(&mut self, plan: &Plan) -> Result<(), RoundError> {
        let latches = |kind: StopKind| {
            matches!(
                kind,
                StopKind::ManyNewlyIdle
                    | StopKind::CoverageFalls
                    | StopKind::WitnessesDisagree
                    | StopKind::SchedulerShort
            )
        };
        let is_open = plan.body.stops.iter().any(|s| s.kind == StopKind::BreakerOpen);
        if let Some(stop) = plan.body.stops.iter().find(|s| latches(s.kind) && !is_open) {
            let why = format!("{}: {}", stop.kind, stop.why);
            self.store.trip(self.clock.now_ms(), &why)?;
            tracing::warn!(why, "the breaker is open");
        }
        Ok(())
    }

    /// Tells on-call, once. What was not taken is told again in the next round.
    async fn tell(&mut self, alert: Alert) -> Result<(), RoundError> {
        let about = alert.allocation_id.map_or_else(String::new, |id| id.to_string());
        let name = match alert.kind {
            // a stop is told again when another one comes
            AlertKind::Stopped => format!("stopped:{}", alert.text.split(':').next().unwrap_or_default()),
            kind => format!("{kind}:{about}"),
        };
        if self.store.is_news(&name, &alert.text, self.clock.now_ms())?
            && let Err(e) = self.notifier.alert(&alert).await
        {
            tracing::warn!(error = %e, alert = alert.text, "an alert was not taken");
            self.store.not_told(&name)?;
        }
        Ok(())
    }
}
