//! The lake as the world: what waits in the inbox is taken in, and the newest cut is judged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use gpuledger_aggregator::idle::{Asked, Looker, Rules, Seen};
use gpuledger_aggregator::ingest;
use gpuledger_aggregator::lake::{Lake, LakeError};
use gpuledger_control::Control;
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::port::{Clock, Unreachable, World};
use gpuledger_schema::reclaim::{Allocation, Identity, Snapshot};

use super::{Advice, rules};

/// How long what was judged stands while no other cut is there, ms.
const STANDS_MS: i64 = 10_000;

/// A world that is a lake.
pub(crate) struct LakeWorld {
    looker: Looker,
    control: PathBuf,
    clock: Arc<dyn Clock>,
    take_in: bool,
    /// What was seen last: it stands for a moment, as long as nothing else is known.
    last: Option<Seen>,
    /// The policy that runs are judged by.
    pub(crate) book: Book,
}

impl LakeWorld {
    pub(crate) fn new(
        lake: Lake,
        partitions: usize,
        control: PathBuf,
        clock: Arc<dyn Clock>,
        take_in: bool,
        book: Book,
    ) -> Self {
        Self { looker: Looker::new(lake, partitions), control, clock, take_in, last: None, book }
    }

    /// What runs are judged by.
    pub(crate) fn rules(&self, advice: Advice) -> Rules {
        rules(&self.book, advice)
    }

    /// What was seen at an instant of the past, as it was known then.
    ///
    /// # Errors
    /// Where the lake cannot be read.
    pub(crate) async fn past(&mut self, at_ms: i64, known: &[(i64, i64)], rules: &Rules) -> anyhow::Result<Seen> {
        Ok(self.looker.look(rules, &Asked { at_ms, live: false, known }).await?)
    }

    /// What there is now.
    ///
    /// # Errors
    /// Where the lake or the control file cannot be read.
    pub(crate) async fn now(&mut self) -> anyhow::Result<Seen> {
        if self.take_in {
            self.ingest().await?;
        }
        let at_ms = self.clock.now_ms();
        let mut seen = match self.still(at_ms).await? {
            Some(seen) => seen,
            None => {
                let rules = rules(&self.book, Advice::default());
                let known = known(&self.control)?;
                let seen = self.looker.look(&rules, &Asked { at_ms, live: true, known: &known }).await?;
                self.last = Some(seen.clone());
                seen
            }
        };
        for a in &mut seen.snapshot.allocations {
            a.work.checkpoint_ms = checkpoint(&self.book, a, at_ms).max(a.work.checkpoint_ms);
        }
        Ok(seen)
    }

    /// What was judged a moment ago, by the same policy, of the cut that is still the newest one.
    async fn still(&self, at_ms: i64) -> anyhow::Result<Option<Seen>> {
        let Some(last) = &self.last else { return Ok(None) };
        let is_recent = (0..STANDS_MS).contains(&(at_ms - last.snapshot.at_ms));
        let is_same = last.snapshot.policy_hash == self.book.hash && last.cut == self.looker.newest().await?;
        Ok((is_recent && is_same).then(|| last.clone()))
    }

    /// Takes in what waits. A server that writes takes it in itself.
    async fn ingest(&self) -> anyhow::Result<()> {
        let lake = self.looker.lake();
        let _lock = match lake.lock() {
            Ok(lock) => lock,
            Err(LakeError::Locked { .. }) => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        ingest::ingest(lake, &mut |_, _| {}).await?;
        Ok(())
    }
}

/// Since when cases know their allocations at rest.
fn known(control: &Path) -> anyhow::Result<Vec<(i64, i64)>> {
    if !control.exists() {
        return Ok(Vec::new());
    }
    let open = Control::open_read_only(control)?.open_cases()?;
    Ok(open.into_iter().filter_map(|c| c.rest_from_ms.map(|from| (c.allocation_id, from))).collect())
}

/// When the file that proves a checkpoint was last written, epoch ms; absent: the policy names none, or it is not there. What a name
/// of a job or user would do to the path is refused.
fn checkpoint(book: &Book, a: &Allocation, at_ms: i64) -> Option<i64> {
    let policy = book.named(a.judgement.policy.as_deref()?, at_ms)?;
    let file = policy.settings.checkpoint.as_ref()?.file.as_ref()?;
    let Identity::Slurm { job_raw, user, .. } = &a.identity else { return None };
    if [job_raw, user].iter().any(|name| name.is_empty() || name.contains(['/', '{', '\0']) || name.starts_with('.')) {
        return None;
    }
    let path = file.replace("{job}", job_raw).replace("{user}", user);
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[async_trait]
impl World for LakeWorld {
    async fn look(&mut self) -> Result<Snapshot, Unreachable> {
        let seen = self.now().await;
        seen.map(|s| s.snapshot).map_err(|e| Unreachable { what: "the lake".to_owned(), why: format!("{e:#}") })
    }
}
