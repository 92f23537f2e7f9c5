//! `node`: records every minute until it is told to stop.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::CommandError;
use crate::node::claims::memory::Memory;
use crate::node::clock::KernelClock;
use crate::node::config::NodeConfig;
use crate::node::metrics::{NodeMetrics, rss_bytes, serve};
use crate::node::seen::{Clock, TICK_MS};
use crate::node::source::nvml::Outcome;
use crate::node::spool::{Appended, Ask, FolderInbox, Limits, Owner, RealDisk, Round, Spool, SpoolLock};
use crate::node::watch::Watch;

/// A wake-up this late after its time still belongs to it.
const LATE_MS: i64 = 2;

/// Records every minute until it is told to stop by a signal.
pub async fn run(config: &NodeConfig) -> Result<(), CommandError> {
    let listen = |kind| signal(kind).map_err(CommandError::Signal);
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let signalled = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    watch(config, signalled, false).await
}

/// Records every minute until `end`, and on to the end of the tick that it falls into.
pub async fn run_until(config: &NodeConfig, end: impl Future<Output = ()>) -> Result<(), CommandError> {
    watch(config, end, true).await
}

async fn watch(config: &NodeConfig, end: impl Future<Output = ()>, to_the_minute: bool) -> Result<(), CommandError> {
    let clock: Arc<dyn Clock> = Arc::new(KernelClock);
    let metrics = Arc::new(NodeMetrics::new(env!("CARGO_PKG_VERSION")));
    let mut keeper = Keeper::open(config, &*clock, Arc::clone(&metrics))?;
    if let Some(address) = config.metrics_address() {
        let pages = serve::serve(address, Arc::clone(&metrics), Arc::clone(&clock));
        tokio::spawn(async move {
            if let Err(e) = pages.await {
                tracing::error!(error = &e as &dyn std::error::Error, "no metrics at {address}");
            }
        });
    }
    let mut end = std::pin::pin!(end);
    let mut ended = false;
    let mut watch = Watch::open(config, Arc::clone(&clock), metrics).map_err(CommandError::Watch)?;
    watch.remember(Memory::new(Box::new(RealDisk), &config.spool));
    watch.poll();
    loop {
        let pause = tokio::time::sleep(pause(config, &watch, clock.now().boot_ms));
        tokio::select! {
            () = &mut end, if !ended => ended = true,
            () = pause => {}
        }
        if ended && !to_the_minute {
            // The tick in flight ends with us: a successor in the same minute writes a tick of that number.
            keeper.end(&*clock);
            return Ok(());
        }
        watch.poll();
        if clock.now().boot_ms >= watch.span().end_boot_ms {
            keeper.take(&mut watch, &*clock);
            if ended {
                keeper.end(&*clock);
                return Ok(());
            }
        }
        if let Outcome::Exit(why) = watch.outcome() {
            let why = why.clone();
            keeper.end(&*clock);
            return Err(CommandError::Exit(why));
        }
    }
}

/// Until the next poll: polls lie on multiples of their interval by the boot clock, so that one falls on every tick's end.
fn pause(config: &NodeConfig, watch: &Watch, now_ms: i64) -> Duration {
    let every_ms = i64::try_from(config.poll_s).map_or(TICK_MS, |s| s * 1_000);
    let next = (now_ms.div_euclid(every_ms) + 1) * every_ms;
    let until = next.min(watch.span().end_boot_ms.max(now_ms));
    Duration::from_millis(u64::try_from(until - now_ms + LATE_MS).unwrap_or(0))
}

/// Ticks on their way to the inbox.
struct Keeper<'a> {
    config: &'a NodeConfig,
    node: String,
    spool: Spool,
    inbox: FolderInbox<RealDisk>,
    metrics: Arc<NodeMetrics>,
    dropped: u64,
}

impl<'a> Keeper<'a> {
    fn open(config: &'a NodeConfig, clock: &dyn Clock, metrics: Arc<NodeMetrics>) -> Result<Self, CommandError> {
        let node = config.node.clone().unwrap_or_default();
        let now = clock.now();
        let holder = format!("process {} of node {node}, since {} ms after the epoch", std::process::id(), now.wall_ms);
        let lock = SpoolLock::take(&config.spool, &holder).map_err(CommandError::Lock)?;
        let limits =
            Limits { seal_ticks: config.seal_ticks, spool_max_bytes: config.spool_max_bytes, ..Limits::default() };
        let owner = Owner { node: node.clone(), cluster: config.cluster.clone() };
        let spool = Spool::open(lock, owner, limits, now).map_err(CommandError::Spool)?;
        let inbox = FolderInbox::new(RealDisk, &config.lake, &node);
        let mut keeper = Self { config, node, spool, inbox, metrics, dropped: 0 };
        // what an earlier process left is sent before anything new is looked at
        keeper.maintain(clock);
        Ok(keeper)
    }

    /// Closes the tick and keeps it.
    fn take(&mut self, watch: &mut Watch, clock: &dyn Clock) {
        let tick = watch.close();
        let problem = match self.spool.append(&tick) {
            Appended::Written | Appended::Twice | Appended::Empty => None,
            Appended::Kept => Some("the spool's disk takes nothing; ticks wait in memory"),
            Appended::Dropped => Some("a tick could not be kept"),
        };
        self.metrics.set_problem(problem.map(str::to_owned));
        self.maintain(clock);
    }

    fn maintain(&mut self, clock: &dyn Clock) {
        let ask = Ask::read(&RealDisk, &self.config.lake, &self.node).unwrap_or_else(|e| {
            tracing::debug!(error = &e as &dyn std::error::Error, "no ask");
            None
        });
        let round = self.spool.maintain(clock.now(), ask, &self.inbox);
        self.tell(&round);
        for _ in 0..round.delivered {
            self.metrics.segment_delivered(false);
        }
        let state = self.spool.state();
        let counts = state.counts;
        let dropped = counts.dropped_bound_ticks + counts.dropped_full_ticks + counts.dropped_large_ticks;
        self.metrics.ticks_dropped(dropped.saturating_sub(self.dropped));
        self.dropped = dropped;
        let small = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.metrics.set_spool(small(state.waiting_files), small(state.used_bytes));
        if let Some(bytes) = own_rss_bytes() {
            self.metrics.set_rss_bytes(bytes);
        }
    }

    /// Seals and sends what there is.
    fn end(&mut self, clock: &dyn Clock) {
        let round = self.spool.flush(clock.now());
        self.tell(&round);
        self.maintain(clock);
    }

    fn tell(&self, round: &Round) {
        for trouble in &round.troubles {
            tracing::warn!(error = trouble as &dyn std::error::Error, "spool");
        }
    }
}

/// This process's own memory: of the `/proc` that it lives in, which need not be the host's.
fn own_rss_bytes() -> Option<i64> {
    rss_bytes(&std::fs::read_to_string(Path::new("/proc/self/status")).ok()?)
}
