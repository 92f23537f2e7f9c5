//! The loop: a look every interval, until told to stop.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::Looker;
use super::config::ClusterConfig;
use super::deliver::ClusterInbox;
use super::keeper::{Bounds, KeepError, Keeper};
use super::log::Opened;
use super::metrics::ClusterMetrics;
use crate::node::metrics::rss_bytes;
use crate::node::metrics::serve::serve;
use crate::node::seen::Clock;
use crate::node::spool::{LockError, RealDisk, SpoolLock};

/// Pause after an inbox that was away, before it is tried again; a look tries it too.
const RESEND_MS: i64 = 15_000;

/// Why a cluster collector ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another collector has the spool, or it cannot be locked.
    #[error("the spool cannot be taken")]
    Lock(#[source] LockError),
    /// The spool cannot be opened, or a single look cannot be kept.
    #[error("the rows cannot be kept")]
    Keep(#[source] KeepError),
    /// Signals cannot be waited for.
    #[error("signals cannot be waited for")]
    Signal(#[source] std::io::Error),
    /// The only look that was asked for failed; that it failed is written down.
    #[error("the look failed: {0}")]
    Look(String),
}

/// Looks every interval until a signal says to stop; or `once`, and then ends.
pub async fn run<L: Looker, S>(
    looker: L,
    config: &ClusterConfig<S>,
    clock: Arc<dyn Clock>,
    once: bool,
) -> Result<(), RunError> {
    let listen = |kind| signal(kind).map_err(RunError::Signal);
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let signalled = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    run_until(looker, config, clock, once, signalled).await
}

/// Looks every interval until `end`; or `once`, and then ends. A look in flight at the end is given up.
pub async fn run_until<L: Looker, S>(
    looker: L,
    config: &ClusterConfig<S>,
    clock: Arc<dyn Clock>,
    once: bool,
    end: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let mut work = Work::open(looker, config, Arc::clone(&clock))?;
    let mut end = std::pin::pin!(end);
    let interval_ms = config.interval_ms();
    loop {
        let looked = tokio::select! {
            () = &mut end => None,
            looked = work.look() => Some(looked),
        };
        let Some(outcome) = looked else { break };
        if once {
            work.finish();
            return outcome;
        }
        // the next multiple of the interval by the boot clock, which never steps
        let next_ms = (clock.now().boot_ms.div_euclid(interval_ms) + 1) * interval_ms;
        let mut is_over = false;
        while !is_over && clock.now().boot_ms < next_ms {
            let left_ms = (next_ms - clock.now().boot_ms).min(RESEND_MS);
            tokio::select! {
                () = &mut end => is_over = true,
                () = tokio::time::sleep(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0))) => work.send(),
            }
        }
        if is_over {
            break;
        }
    }
    work.finish();
    Ok(())
}

/// A looker, and what becomes of its looks.
struct Work<L> {
    looker: L,
    keeper: Keeper,
    inbox: ClusterInbox<RealDisk>,
    clock: Arc<dyn Clock>,
    metrics: Arc<ClusterMetrics>,
    _lock: SpoolLock,
    pages: Option<tokio::task::JoinHandle<()>>,
}

impl<L> Drop for Work<L> {
    fn drop(&mut self) {
        if let Some(pages) = self.pages.take() {
            pages.abort();
        }
    }
}

impl<L: Looker> Work<L> {
    fn open<S>(looker: L, config: &ClusterConfig<S>, clock: Arc<dyn Clock>) -> Result<Self, RunError> {
        let now = clock.now();
        let (kind, cluster) = (looker.kind(), &config.cluster);
        let holder = format!(
            "process {} for {kind} cluster {cluster}, since {} ms after the epoch",
            std::process::id(),
            now.wall_ms
        );
        let lock = SpoolLock::take(&config.spool, &holder).map_err(RunError::Lock)?;
        let bounds = Bounds { seal_looks: config.seal_looks, spool_max_bytes: config.spool_max_bytes };
        let (keeper, opened) = Keeper::open(Box::new(RealDisk), &config.spool, kind, cluster, bounds, now.wall_ms)
            .map_err(RunError::Keep)?;
        let source = &keeper.memory().source;
        match opened {
            Opened::Resumed => tracing::info!("goes on with {source}"),
            Opened::New => tracing::info!("a new epoch: {source}"),
            Opened::Damaged(why) => {
                tracing::warn!(
                    "the state was set aside ({why}); a new epoch: {source}; all that runs is written again"
                );
            }
        }
        let metrics = Arc::new(ClusterMetrics::new(env!("CARGO_PKG_VERSION"), config.interval_ms()));
        let pages = config.metrics_address().map(|address| {
            let pages = serve(address, Arc::clone(&metrics), Arc::clone(&clock));
            tokio::spawn(async move {
                if let Err(e) = pages.await {
                    tracing::error!(error = &e as &dyn std::error::Error, "no metrics at {address}");
                }
            })
        });
        let inbox = ClusterInbox::new(RealDisk, &config.lake);
        let mut work = Self { looker, keeper, inbox, clock, metrics, _lock: lock, pages };
        // what an earlier process left is sent before anything new is looked at
        work.seal(false);
        work.send();
        Ok(work)
    }

    /// One look, kept, sealed where due, and sent.
    async fn look(&mut self) -> Result<(), RunError> {
        if let Err(e) = self.keeper.room() {
            self.send();
            return self.was_not_kept(e);
        }
        let before = self.keeper.before();
        let start = self.clock.now();
        let look = self.looker.look(start.wall_ms, &before).await;
        let now = self.clock.now();
        let newest = self.keeper.memory().newest_ms();
        let said = look.as_ref().err().map(|e| e.what.clone());
        let rows = match self.keeper.take(start.wall_ms, look) {
            Ok(rows) => rows,
            Err(e) => return self.was_not_kept(e),
        };
        // an answer that came may still not have been believed
        let is_taken = self.keeper.memory().newest_ms() != newest;
        let failed = match (is_taken, said) {
            (true, _) => None,
            (false, Some(said)) => Some(said),
            (false, None) => Some("the answer was not believed; the reading says why".to_owned()),
        };
        if let Some(why) = &failed {
            tracing::warn!("the look failed: {why}");
        }
        self.metrics.looked(now, now.boot_ms - start.boot_ms, rows, failed.as_deref());
        self.metrics.set_calls(&self.looker.calls());
        let (jobs, runs) = self.keeper.memory().counts();
        self.metrics.set_live(jobs, runs);
        self.seal(false);
        self.send();
        failed.map_or(Ok(()), |why| Err(RunError::Look(why)))
    }

    fn was_not_kept(&self, e: KeepError) -> Result<(), RunError> {
        tracing::error!(error = &e as &dyn std::error::Error, "no look is kept");
        self.metrics.set_problem(Some(e.to_string()));
        Err(RunError::Keep(e))
    }

    fn seal(&mut self, everything: bool) {
        if let Err(e) = self.keeper.seal(everything) {
            tracing::warn!(error = &e as &dyn std::error::Error, "looks are not sealed; it is tried again");
        }
    }

    fn send(&mut self) {
        let sent = self.keeper.send(&self.inbox);
        for name in &sent.rotten {
            tracing::error!("{name} does not read as it was written and is set aside");
        }
        if let Some(e) = &sent.failed {
            tracing::warn!(error = e as &dyn std::error::Error, "segments wait");
        }
        self.metrics.set_spool(self.keeper.waiting(), sent.files);
        if let Some(bytes) = own_rss_bytes() {
            self.metrics.set_rss_bytes(bytes);
        }
    }

    /// Seals and sends what there is.
    fn finish(&mut self) {
        self.seal(true);
        self.send();
    }
}

fn own_rss_bytes() -> Option<i64> {
    rss_bytes(&std::fs::read_to_string(Path::new("/proc/self/status")).ok()?)
}
