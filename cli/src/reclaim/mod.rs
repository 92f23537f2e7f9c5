//! Reclaiming as a product: the lake as the world, the outbox as the mail, the control file as the store, and the loop over them.
//!
//! The engine and everything that may stop work is the crate `reclaim`; here is only what it stands on. A round can be called by a
//! command, by `reclaim watch`, and by a server.

mod daily;
mod post;
mod rounds;
mod rules;
mod said;
mod settings;
mod tell;
mod world;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use gpuledger_aggregator::lake::Lake;
use gpuledger_control::{Control, PolicyUse};
use gpuledger_reclaim::actuator::Schedulers;
use gpuledger_reclaim::answer::{Answer, Who, answer};
use gpuledger_reclaim::apply::{Applied, Engine};
use gpuledger_reclaim::plan::PlanBody;
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::port::{Clock, Store as _};
use gpuledger_reclaim::store::{ControlStore, KillPath};
use gpuledger_schema::reclaim::{Case, Phase};

use crate::clock::WallClock;
use crate::outcome::usage;
use crate::place::Place;

pub(crate) use daily::Daily;
pub(crate) use post::Post;
pub(crate) use rounds::Rounds;
pub(crate) use rules::{Advice, rules};
pub(crate) use said::{say, store, store_of, throw};
pub(crate) use settings::ReclaimConfig;
pub(crate) use world::LakeWorld;

/// The engine over this place.
pub(crate) type PlaceEngine = Engine<LakeWorld, Schedulers, Post, ControlStore<KillPath>>;

/// How long a node is asked to seal every tick, ms.
const ASK_MS: i64 = 300_000;

/// Everything that a round needs.
pub(crate) struct Reclaimer {
    /// The engine.
    pub(crate) engine: PlaceEngine,
    lake: Lake,
    place: Place,
}

/// The policy that is in force; the built-in one where none was ever imported.
pub(crate) fn book_in_force(control: Option<&Control>) -> anyhow::Result<(Book, Option<PolicyUse>)> {
    let used = control.map(Control::policies_used).transpose()?.and_then(|mut all| all.pop());
    let text = match (control, &used) {
        (Some(control), Some(used)) => control
            .policy_text(&used.hash)?
            .with_context(|| format!("the text of policy {} is not in the control file", used.hash))?,
        _ => String::new(),
    };
    Ok((Book::read(&text).context("the policy in force")?, used))
}

/// A policy as far as it can be kept here: where neither mail nor webhook is configured nobody is told.
pub(crate) fn reached(place: &Place, mut book: Book) -> Book {
    book.notify &= place.config.notify.mail.is_some() || !place.config.notify.webhook.is_empty();
    book
}

/// Where a file stops everything.
pub(crate) fn kill_file(place: &Place, lake: &Lake) -> anyhow::Result<PathBuf> {
    match &place.config.reclaim.kill_file {
        Some(path) => Ok(path.clone()),
        None => Ok(place.control_path(lake)?.with_file_name("reclaim.stop")),
    }
}

impl Reclaimer {
    /// Opens everything. `take_in`: whether looks take in what waits in the inbox.
    pub(crate) async fn open(place: &Place, lake: Lake, take_in: bool) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(WallClock);
        let control = place.control_to_write(&lake)?;
        let book = reached(place, book_in_force(Some(&control))?.0);
        let path = place.control_path(&lake)?;
        let world =
            LakeWorld::new(lake.clone(), place.partitions(), path.clone(), Arc::clone(&clock), take_in, book.clone());
        let post = Post::new(Control::open(&path)?, place.config.notify.clone(), place, book.clone(), &clock)?;
        let store = ControlStore { control, holder: holder()?, kill_file: KillPath(kill_file(place, &lake)?) };
        let actuator = settings::schedulers(&place.config.reclaim, &clock).await?;
        let engine = Engine { world, actuator, notifier: post, store, clock, book };
        Ok(Self { engine, lake, place: place.clone() })
    }

    /// The policy as it is now: a new one counts from the next round on.
    fn read_policy(&mut self) -> anyhow::Result<()> {
        let book = reached(&self.place, book_in_force(Some(&self.engine.store.control))?.0);
        self.engine.world.book = book.clone();
        self.engine.notifier.book = book.clone();
        self.engine.book = book;
        Ok(())
    }

    /// One round: what came back of the mail, then look, plan, check and apply; then nodes of cases that are near are asked to seal
    /// every tick, on-call gets the report of the day, and what stands is told to whoever is told of alerts.
    ///
    /// # Errors
    /// Where nothing was done at all, and why.
    pub(crate) async fn round(&mut self, now_ms: i64) -> anyhow::Result<Applied> {
        self.read_policy()?;
        self.bounces(now_ms)?;
        let applied = self.engine.round().await?;
        self.ask_nodes(now_ms).await?;
        if self.engine.book.notify
            && let Err(e) = self.engine.notifier.news(self.engine.store.open_cases()?).await
        {
            tracing::warn!(error = format!("{e:#}"), "what became of cases was not told");
        }
        if let Err(e) = self.day(now_ms).await {
            tracing::warn!(error = format!("{e:#}"), "the report of the day was not told");
        }
        tell::standing(&mut self.engine, &self.place, &applied.plan.body, now_ms).await?;
        Ok(applied)
    }

    /// Leads no longer: the next one need not wait for the lease to run out.
    pub(crate) fn step_down(&mut self) {
        let now_ms = self.engine.clock.now_ms();
        if let Err(e) = self.engine.store.lead(now_ms, 0) {
            tracing::warn!(error = %e, "the lease was not given back");
        }
    }

    /// Warnings that were delivered and came back: a case returns to before them.
    fn bounces(&mut self, now_ms: i64) -> anyhow::Result<()> {
        let store = &mut self.engine.store;
        for case in store.open_cases()? {
            if let Some((phase, why)) = post::bounced(&store.control, &case)? {
                let said = Answer::Bounce { last: phase == Phase::Order, why };
                if let Err(e) = answer(store, &self.engine.book, &case, &Who::Mail, &said, now_ms) {
                    tracing::warn!(error = %e, case = case.case_id, "a bounce was not taken");
                }
            }
        }
        Ok(())
    }

    /// The report of the day, told to on-call by the first round of it.
    async fn day(&mut self, now_ms: i64) -> anyhow::Result<()> {
        let zone = self.place.zone(None)?.unwrap_or(chrono_tz::Tz::UTC);
        let post = &self.engine.notifier;
        let told = !self.engine.book.notify || daily::is_told(post, now_ms, zone).await?;
        if told || !post.reaches(gpuledger_notify::Role::OnCall).await? {
            return Ok(());
        }
        let (plan, snapshot) = self.engine.plan().await?;
        let daily = Daily::of(&self.place, &self.lake, &plan, &snapshot, zone).await?;
        Ok(daily.mail(&self.engine.notifier).await?)
    }

    /// Nodes whose minutes are waited for seal each of them for a while.
    async fn ask_nodes(&self, now_ms: i64) -> anyhow::Result<()> {
        let cases = self.engine.store.open_cases()?;
        let near = cases.iter().filter(|c| c.state.is_near());
        let nodes: BTreeSet<String> = near.flat_map(nodes_of).collect();
        for node in nodes {
            let ask = serde_json::json!({"seal_ticks": 1, "until_ms": now_ms + ASK_MS});
            let name = format!("ask/{}.json", gpuledger_schema::path::safe_writer(&node));
            self.lake.put(&name, ask.to_string().into_bytes()).await?;
        }
        Ok(())
    }
}

fn nodes_of(case: &Case) -> Vec<String> {
    facts(case).map(|a| a.nodes).unwrap_or_default()
}

/// What stops a round or a part of it, a line each.
pub(crate) fn stops(body: &PlanBody) -> Vec<String> {
    body.stops.iter().map(|s| format!("stopped: {}: {}", s.kind, s.why)).collect()
}

/// The allocation of a case as it was when the case was opened.
pub(crate) fn facts(case: &Case) -> Option<gpuledger_schema::reclaim::Allocation> {
    serde_json::from_str(&case.facts).ok()
}

/// A name that no other process has: two servers never take each other for themselves.
fn holder() -> anyhow::Result<String> {
    let mut random = [0_u8; 8];
    getrandom::getrandom(&mut random).map_err(|e| anyhow::anyhow!("the system gives no randomness: {e}"))?;
    Ok(format!(
        "{}:{}:{:016x}",
        std::env::var("HOSTNAME").unwrap_or_default(),
        std::process::id(),
        u64::from_be_bytes(random)
    ))
}

/// A case by its number, as it was typed.
pub(crate) fn case_of(control: &Control, typed: &str) -> anyhow::Result<Case> {
    let id =
        typed.trim_start_matches("case-").parse().map_err(|_| usage(format!("`{typed}` is no number of a case")))?;
    control.case(id)?.ok_or_else(|| usage(format!("there is no case {id}: `gpuledger reclaim cases` lists them")))
}
