//! `reclaim plan`, `check`, `apply` and `watch`: rounds, looked at or taken.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use gpuledger_aggregator::report::Format;
use gpuledger_collector::input;
use gpuledger_reclaim::apply::{Applied, Outcome as Taken, RoundError};
use gpuledger_reclaim::check as checker;
use gpuledger_reclaim::plan::{Doing, Notice, Plan};
use gpuledger_reclaim::port::Store as _;
use gpuledger_reclaim::store::{ControlStore, KillPath};
use gpuledger_reclaim::utc;
use gpuledger_schema::reclaim::Snapshot;
use serde::{Deserialize, Serialize};

use super::super::print;
use super::super::quote::instant;
use crate::args;
use crate::clock::{self, WallClock};
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::reclaim::{Advice, LakeWorld, Reclaimer, book_in_force, reached, stops};
use crate::signal;

/// A plan with what it was made of: what `check` and `apply` read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    plan: Plan,
    snapshot: Snapshot,
}

pub(super) async fn plan(place: &Place, asked: &args::Plan, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let (plan, snapshot) = match &asked.at {
        Some(at) => {
            let at_ms = instant("--at", at, super::zone(place, asked.zone.as_deref())?)?;
            let book = reached(place, book_in_force(place.control(&lake)?.as_ref())?.0);
            let path = place.control_path(&lake)?;
            let mut world = LakeWorld::new(lake, place.partitions(), path, Arc::new(WallClock), false, book.clone());
            let rules = world.rules(Advice::default());
            let snapshot = world.past(at_ms, &[], &rules).await?.snapshot;
            (gpuledger_reclaim::plan::plan(&snapshot, &book, at_ms), snapshot)
        }
        None => Reclaimer::open(place, lake, false).await?.engine.plan().await?,
    };
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(Document { plan, snapshot })).as_bytes())?,
        Format::Table => print(told(&plan).as_bytes())?,
        _ => return Err(usage("a plan is a table for people, or json")),
    }
    Ok(Outcome::Done)
}

/// What a step does, in words.
fn doing(of: &Doing) -> String {
    let until = |ms: &Option<i64>| ms.map_or_else(String::new, |ms| format!(", due {}", utc(ms)));
    match of {
        Doing::Open { class, policy, deadline_ms, .. } => {
            format!("open a case of {class} by policy {policy}{}", until(deadline_ms))
        }
        Doing::Tell { notice, deadline_ms } => {
            let which = match notice {
                Notice::First => "the first warning",
                Notice::Last => "the last warning",
                Notice::Question => "a question",
            };
            format!("tell its owner: {which}{}", until(deadline_ms))
        }
        Doing::Due => "its deadline has passed".to_owned(),
        Doing::Approve => "approved".to_owned(),
        Doing::Postpone { deadline_ms, .. } => format!("its clock started again{}", until(deadline_ms)),
        Doing::Resume => "what kept it is over".to_owned(),
        Doing::Recover { active_from_ms } => format!("works again since {}", utc(*active_from_ms)),
        Doing::Signal { signal, .. } => format!("ask for a checkpoint by {signal}"),
        Doing::Order { act, .. } => format!("ask the scheduler: {act}"),
        Doing::Freed { seen_ms } => format!("its GPUs were seen free at {}", utc(*seen_ms)),
        Doing::Fail { why, retry_ms } => format!("failed: {why}; again at {}", utc(*retry_ms)),
        Doing::Escalate { why } => format!("for an operator: {why}"),
        Doing::Exempt { reason, .. } => format!("exempt: {reason}"),
    }
}

fn told(plan: &Plan) -> String {
    let body = &plan.body;
    let mut out = vec![format!("plan {} of {}: {} steps", &plan.hash[..12], utc(body.made_ms), body.steps.len())];
    out.extend(stops(body));
    for step in &body.steps {
        out.push(format!("  {} of {}: {}", step.shown, step.team, doing(&step.doing)));
    }
    if !body.left.is_empty() {
        out.push(format!("left alone: {}", body.left.len()));
        for left in &body.left {
            let detail = if left.detail.is_empty() { String::new() } else { format!(" ({})", left.detail) };
            out.push(format!("  {}: {}{detail}", left.shown, left.why));
        }
    }
    out.extend(
        body.alerts.iter().filter(|a| a.allocation_id.is_some()).map(|a| format!("alert {}: {}", a.kind, a.text)),
    );
    out.push(String::new());
    out.join("\n")
}

fn document(file: &str) -> anyhow::Result<Document> {
    let read = input::read(file, &mut std::io::stdin().lock())?;
    serde_json::from_slice(&read.bytes)
        .map_err(|e| usage(format!("{}: not a plan as `reclaim plan --format json` writes it: {e}", read.name)))
}

pub(super) fn check(place: &Place, file: &str) -> anyhow::Result<Outcome> {
    let of = document(file)?;
    let lake = place.lake()?;
    let book = reached(place, book_in_force(place.control(&lake)?.as_ref())?.0);
    let refused = checker::check(&of.plan, &of.snapshot, &book);
    if refused.is_empty() {
        print(
            format!("plan {}: {} steps, nothing is refused\n", &of.plan.hash[..12], of.plan.body.steps.len())
                .as_bytes(),
        )?;
        return Ok(Outcome::Done);
    }
    let list: String = refused.iter().map(|r| format!("{r}\n")).collect();
    print(list.as_bytes())?;
    Ok(Outcome::Failed)
}

pub(super) async fn apply(place: &Place, file: Option<&str>) -> anyhow::Result<Outcome> {
    let mut reclaimer = Reclaimer::open(place, place.lake_to_write()?, true).await?;
    let applied = match file {
        None => reclaimer.round(clock::now_ms()).await,
        Some(file) => {
            let of = document(file)?;
            reclaimer.engine.apply((of.plan, of.snapshot)).await.map_err(Into::into)
        }
    };
    reclaimer.step_down();
    let applied = applied?;
    print(done(&applied).as_bytes())?;
    Ok(Outcome::Done)
}

/// What a round did, a line a step.
fn done(applied: &Applied) -> String {
    let body = &applied.plan.body;
    let mut out = vec![format!("{}: {} steps, {} left alone", utc(body.made_ms), body.steps.len(), body.left.len())];
    out.extend(stops(body));
    for (step, taken) in body.steps.iter().zip(&applied.outcomes) {
        let how = match taken {
            Taken::Done => "done".to_owned(),
            Taken::Refused(why) => format!("refused: {why}"),
            Taken::Failed(why) => format!("failed: {why}"),
            Taken::NotKept(why) => format!("not kept: {why}"),
        };
        out.push(format!("  {}: {}: {how}", step.shown, doing(&step.doing)));
    }
    out.push(String::new());
    out.join("\n")
}

pub(super) async fn watch(place: &Place, every: Option<u64>, rounds: Option<u64>) -> anyhow::Result<Outcome> {
    let every = every.unwrap_or_else(|| place.config.reclaim.round_s());
    if every == 0 {
        return Err(usage("rounds are at least a second apart"));
    }
    let mut reclaimer = Reclaimer::open(place, place.lake_to_write()?, true).await?;
    let mut stop = std::pin::pin!(signal::stopped());
    let mut taken = 0;
    loop {
        match reclaimer.round(clock::now_ms()).await {
            // a quiet round says nothing
            Ok(applied) if applied.plan.body.steps.is_empty() && applied.plan.body.stops.is_empty() => {}
            Ok(applied) => print(done(&applied).as_bytes())?,
            // what could not be looked at is looked at again: nothing was done, and nothing is inferred
            Err(e) => eprintln!("gpuledger: {}: nothing was done: {e:#}", utc(clock::now_ms())),
        }
        taken += 1;
        if rounds.is_some_and(|n| taken >= n) {
            reclaimer.step_down();
            return Ok(Outcome::Done);
        }
        tokio::select! {
            () = &mut stop => {
                reclaimer.step_down();
                return Ok(Outcome::Done);
            }
            () = tokio::time::sleep(Duration::from_secs(every)) => {}
        }
    }
}

/// The store of this place, for whoever asks it without a look at the world.
pub(super) fn store(place: &Place) -> anyhow::Result<ControlStore<KillPath>> {
    crate::reclaim::store(place, &place.lake_to_write()?)
}

/// Leads for the moment of an order.
pub(super) fn lead(reclaimer: &mut Reclaimer, now_ms: i64) -> anyhow::Result<i64> {
    let fence = reclaimer.engine.store.lead(now_ms, gpuledger_reclaim::apply::LEASE_MS)?;
    fence.ok_or(RoundError::NotLeader).context("nothing was ordered")
}
