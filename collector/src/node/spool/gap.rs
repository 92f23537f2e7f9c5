//! What was dropped, written down: a failed look at the node for the time that is missing.
//!
//! A gap is stored beside the journal before anything is dropped, grows while dropping goes on, and goes into the
//! journal like any row once dropping has ended. So it survives a restart, and weeks of dropping are one row.

use std::path::{Path, PathBuf};

use gpuledger_schema::table::ReadingRow;
use serde::{Deserialize, Serialize};

use super::Owner;
use super::disk::{Disk, DiskError, put_whole};
use super::tick::Span;

/// The file in the spool folder.
const NAME: &str = "gaps.json";
/// Gaps kept apart; more of them grow the last one.
const GAPS_MAX: usize = 16;
/// Two gaps of one reason nearer than this are one: nothing was measured between them either.
const APART_MS: i64 = 3_600_000;

/// Why ticks were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// The spool was at its stated bound on disk, the lake away.
    Bound,
    /// The disk took nothing and the memory's bound was reached.
    DiskFull,
    /// A single tick was larger than a frame or the bound.
    TooLarge,
    /// The journal or a sealed file could not be read back as it was written.
    Damaged,
    /// The rows could not become a segment.
    Unsealable,
}

impl Why {
    fn text(self) -> &'static str {
        match self {
            Self::Bound => "the spool was at its bound on disk",
            Self::DiskFull => "the disk was full and as much was in memory as may be",
            Self::TooLarge => "larger than a frame or the spool may be",
            Self::Damaged => "the spool could not be read back; the bytes are set aside on the node",
            Self::Unsealable => "the rows could not become a segment; the journal is set aside on the node",
        }
    }
}

/// A stretch of dropped ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gap {
    from_ms: i64,
    to_ms: i64,
    ticks: u64,
    why: Why,
    noted_ms: i64,
}

/// The gaps that are not in the journal yet.
#[derive(Debug)]
pub(super) struct Gaps {
    folder: PathBuf,
    list: Vec<Gap>,
    stored: bool,
}

impl Gaps {
    /// Those that the spool folder holds. A file that does not read is taken as none: it is written whole, so that
    /// only a broken disk makes one.
    pub(super) fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, DiskError> {
        let bytes = disk.read(&folder.join(NAME))?;
        let list = bytes.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        Ok(Self { folder: folder.to_owned(), list, stored: true })
    }

    /// Notes that ticks are about to be dropped; `noted_ms` is the wall clock.
    pub(super) fn note(&mut self, span: Span, why: Why, noted_ms: i64) {
        self.stored = false;
        let full = self.list.len() >= GAPS_MAX;
        let near = |g: &Gap| {
            g.why == why
                && span.from_ms <= g.to_ms.saturating_add(APART_MS)
                && g.from_ms <= span.to_ms.saturating_add(APART_MS)
        };
        match self.list.last_mut().filter(|g| full || near(g)) {
            Some(g) => {
                g.from_ms = g.from_ms.min(span.from_ms);
                g.to_ms = g.to_ms.max(span.to_ms);
                g.ticks = g.ticks.saturating_add(span.ticks);
                g.noted_ms = noted_ms;
            }
            None => {
                let Span { from_ms, to_ms, ticks } = span;
                self.list.push(Gap { from_ms, to_ms, ticks, why, noted_ms });
            }
        }
    }

    /// Puts them on disk, where they are not yet.
    pub(super) fn store(&mut self, disk: &dyn Disk) -> Result<(), DiskError> {
        if self.stored {
            return Ok(());
        }
        if self.list.is_empty() {
            disk.remove(&self.folder.join(NAME))?;
        } else {
            let bytes = serde_json::to_vec(&self.list).unwrap_or_default();
            put_whole(disk, &self.folder, NAME, &bytes)?;
        }
        disk.sync(&self.folder)?;
        self.stored = true;
        Ok(())
    }

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// They as rows.
    pub(super) fn rows(&self, owner: &Owner) -> Vec<ReadingRow> {
        self.list.iter().map(|g| row(g, owner)).collect()
    }

    /// Forgets those whose rows are in the journal.
    pub(super) fn forget(&mut self, journalled: &[ReadingRow], owner: &Owner) {
        let before = self.list.len();
        self.list.retain(|g| !journalled.contains(&row(g, owner)));
        self.stored &= self.list.len() == before;
    }
}

/// How many ticks is said only where it is known: bytes that do not read have no number.
fn dropped(gap: &Gap) -> String {
    match gap.why {
        Why::Damaged => format!("dropped: {}", gap.why.text()),
        why => format!("at least {} ticks dropped: {}", gap.ticks, why.text()),
    }
}

fn row(gap: &Gap, owner: &Owner) -> ReadingRow {
    ReadingRow {
        // the node is in the source, because the key of a reading has no node
        source: format!("{} spool", owner.node),
        kind: "node".to_owned(),
        cluster: owner.cluster.clone(),
        node: Some(owner.node.clone()),
        read_at_ms: gap.noted_ms,
        from_ms: gap.from_ms,
        to_ms: gap.to_ms,
        ok: false,
        rows: 0,
        error: Some(dropped(gap)),
    }
}
