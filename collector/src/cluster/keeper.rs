//! State, segments and inbox of a cluster collector together: a look is on disk before it counts, and nothing is lost or
//! doubled by a kill.
//!
//! ```text
//! <spool>/lock     who uses it
//! <spool>/state    what was written, and looks that are not sealed
//! <spool>/out/     sealed segments, until they are in the inbox
//! <spool>/aside/   segments that could not be read back
//! ```
//!
//! Where the inbox is away so long that the bound is reached, no further look is taken: what runs is seen by the next
//! look, and what ended meanwhile is asked of accounting.

use std::path::Path;

use super::changes::Memory;
use super::deliver::{Outbox, Sent, segments};
use super::log::{Log, LogError, Opened};
use super::{Before, LookError, Snapshot};
use crate::node::spool::{Disk, DiskError, Inbox};
use crate::segment::SegmentError;

/// Rows that are sealed at once, however few looks they are: the first look at a large cluster.
const SEAL_ROWS: usize = 5_000;
/// Files sent in one round, so that a lake back after days does not hold up a look.
const SEND_FILES_MAX: usize = 256;

/// Bounds of a keeper.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Looks of a segment.
    pub seal_looks: usize,
    /// Bytes of waiting segments beyond which no look is taken.
    pub spool_max_bytes: u64,
}

/// What keeps the rows of a cluster collector.
#[derive(Debug)]
pub struct Keeper {
    disk: Box<dyn Disk>,
    writer: String,
    bounds: Bounds,
    log: Log,
    outbox: Outbox,
}

/// Why rows cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The state.
    #[error("a look is not kept")]
    Log(#[source] LogError),
    /// The disk.
    #[error("the spool's disk fails")]
    Disk(#[source] DiskError),
    /// Rows that cannot become a segment.
    #[error("rows cannot become a segment")]
    Segment(#[source] SegmentError),
    /// The bound.
    #[error("{bytes} bytes of segments wait for the inbox, more than `spool_max_bytes` ({bound}): no look is taken")]
    Full {
        /// Bytes that wait.
        bytes: u64,
        /// The bound.
        bound: u64,
    },
}

impl From<LogError> for KeepError {
    fn from(e: LogError) -> Self {
        Self::Log(e)
    }
}

impl From<DiskError> for KeepError {
    fn from(e: DiskError) -> Self {
        Self::Disk(e)
    }
}

impl Keeper {
    /// Goes on from what lies in `folder`, for the scheduler `kind` of `cluster`.
    pub fn open(
        disk: Box<dyn Disk>,
        folder: &Path,
        kind: &str,
        cluster: &str,
        bounds: Bounds,
        now_ms: i64,
    ) -> Result<(Self, Opened), KeepError> {
        disk.make_folder(folder)?;
        let mut outbox = Outbox::open(&*disk, folder)?;
        let (log, opened) = Log::open(&*disk, folder, (kind, cluster), now_ms, outbox.newest())?;
        outbox.cut(&*disk, log.kept().parcel)?;
        let keeper = Self { disk, writer: format!("{kind}-{cluster}"), bounds, log, outbox };
        Ok((keeper, opened))
    }

    /// What the next look is told.
    pub fn before(&self) -> Before {
        self.memory().before()
    }

    /// What was written.
    pub fn memory(&self) -> &Memory {
        &self.log.kept().memory
    }

    /// Waiting files and their bytes.
    pub fn waiting(&self) -> (u64, u64) {
        self.outbox.waiting()
    }

    /// Whether there is room for a look.
    pub fn room(&self) -> Result<(), KeepError> {
        let (_, bytes) = self.outbox.waiting();
        let bound = self.bounds.spool_max_bytes;
        if bytes > bound { Err(KeepError::Full { bytes, bound }) } else { Ok(()) }
    }

    /// Takes what a look at `now_ms` came to. It is on disk when this returns; gives the number of rows.
    pub fn take(&mut self, now_ms: i64, look: Result<Snapshot, LookError>) -> Result<usize, KeepError> {
        let change = self.memory().change(now_ms, look);
        let rows = change.rows();
        self.log.look(&*self.disk, change)?;
        Ok(rows)
    }

    /// Seals what is due, or everything.
    pub fn seal(&mut self, everything: bool) -> Result<(), KeepError> {
        let unsealed = &self.log.kept().unsealed;
        let rows: usize = unsealed.iter().map(super::changes::Change::rows).sum();
        let is_due = everything || unsealed.len() >= self.bounds.seal_looks || rows >= SEAL_ROWS;
        if unsealed.is_empty() || !is_due {
            return Ok(());
        }
        let number = self.log.kept().parcel + 1;
        let segments = segments(&self.writer, unsealed).map_err(KeepError::Segment)?;
        self.outbox.park(&*self.disk, number, &segments)?;
        self.log.sealed(&*self.disk, number)?;
        Ok(())
    }

    /// Sends what is sealed.
    pub fn send(&mut self, inbox: &dyn Inbox) -> Sent {
        self.outbox.send(&*self.disk, inbox, self.log.kept().parcel, SEND_FILES_MAX)
    }
}

#[cfg(test)]
mod tests;
