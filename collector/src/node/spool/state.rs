//! What the spool tells its operator: counts for metrics, and troubles for the log.

use super::disk::DiskError;
use super::frame::FrameError;
use super::inbox::InboxError;
use super::limits::LimitsError;
use crate::segment::SegmentError;

/// Where the spool stands. Counts since start, unless they say otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoolState {
    /// Ticks that are in the journal or sealed and not yet acknowledged, now.
    pub waiting_ticks: u64,
    /// Sealed files that are not yet acknowledged, now.
    pub waiting_files: u64,
    /// Bytes on disk, now.
    pub used_bytes: u64,
    /// Bytes of what was set aside, now; part of `used_bytes`.
    pub aside_bytes: u64,
    /// Ticks in memory because the disk takes none, now.
    pub kept_ticks: u64,
    /// Start of the oldest tick that is not yet acknowledged, epoch ms by the wall clock as it was then.
    pub oldest_ms: Option<i64>,
    /// Deliveries that failed in a row, now.
    pub failures: u32,
    /// The counts since start.
    pub counts: Counts,
}

/// Counts since start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ticks taken.
    pub taken_ticks: u64,
    /// Ticks that had been taken before, and were not taken again.
    pub twice_ticks: u64,
    /// Journal files sealed.
    pub sealed: u64,
    /// Files acknowledged.
    pub delivered_files: u64,
    /// Ticks dropped because the spool was at its bound on disk.
    pub dropped_bound_ticks: u64,
    /// Ticks dropped because the disk took none and the memory's bound was reached.
    pub dropped_full_ticks: u64,
    /// Ticks dropped because they were larger than may be.
    pub dropped_large_ticks: u64,
    /// Frames that were in flight when a writer died.
    pub torn_frames: u64,
    /// Places at which a journal or a sealed file could not be read back.
    pub damaged: u64,
    /// Files that were set aside and had to go for the bound.
    pub dropped_aside_files: u64,
}

/// What went wrong on the way and was dealt with. The caller logs it; nothing else has to be done.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The spool's own disk failed; it is tried again.
    #[error("the spool's disk fails")]
    Disk(#[source] DiskError),
    /// The inbox did not take a segment; it is sent again.
    #[error("a segment is not delivered")]
    Inbox(#[source] InboxError),
    /// A tick cannot be framed; it is dropped and a gap is written.
    #[error("a tick is dropped")]
    Frame(#[source] FrameError),
    /// Rows cannot become a segment; their journal is set aside and a gap is written.
    #[error("journal {number} cannot be sealed and is set aside")]
    Segment {
        /// Number of the journal file.
        number: u64,
        /// Why.
        source: SegmentError,
    },
    /// The bound is too small for one tick or interval; it is dropped and a gap is written.
    #[error("the spool's bound is too small for {bytes} bytes more, whatever goes")]
    Bound {
        /// What the tick takes, or the sealed interval beside its journal.
        bytes: u64,
    },
    /// Ticks were dropped for the bound; a gap is written.
    #[error("{ticks} ticks dropped, the oldest: the spool is at its bound")]
    Dropped {
        /// How many.
        ticks: u64,
    },
    /// Ticks were dropped from memory; a gap is written.
    #[error("{ticks} ticks dropped, the oldest: the disk takes none")]
    Full {
        /// How many.
        ticks: u64,
    },
    /// A frame in flight was cut off when the spool was opened. Nobody had been told that it was safe.
    #[error("a frame in flight, {bytes} bytes, is cut off and set aside")]
    Torn {
        /// Its bytes.
        bytes: u64,
    },
    /// Bytes that cannot be read back are set aside, and a gap is written.
    #[error("journal or segment {number} does not read as it was written; {bytes} bytes are set aside")]
    Damaged {
        /// Number of the journal file.
        number: u64,
        /// How many, where they were counted.
        bytes: u64,
    },
}

/// Why a spool cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A bound makes no sense.
    #[error("the spool's bounds")]
    Limits(#[source] LimitsError),
    /// The folder cannot be read or made.
    #[error("cannot open the spool")]
    Disk(#[source] DiskError),
}

/// What one round of upkeep came to.
#[derive(Debug, Default)]
#[must_use = "troubles have to be logged"]
pub struct Round {
    /// Journal files sealed.
    pub sealed: u64,
    /// Files acknowledged.
    pub delivered: u64,
    /// What went wrong since the last round.
    pub troubles: Vec<Trouble>,
}

/// How a tick was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a tick that is only in memory is lost with the process"]
pub enum Appended {
    /// It is in the journal, on disk.
    Written,
    /// It is in memory: the disk takes nothing now.
    Kept,
    /// It was there already.
    Twice,
    /// It has no row.
    Empty,
    /// It cannot be kept; a gap is written.
    Dropped,
}

impl From<DiskError> for Trouble {
    fn from(e: DiskError) -> Self {
        Self::Disk(e)
    }
}
