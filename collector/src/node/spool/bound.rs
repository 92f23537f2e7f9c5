//! Room: what is dropped, in which order, when the disk's or the memory's bound is reached.
//!
//! Oldest first, whole intervals, and a gap is stored before anything goes.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::disk::{Disk, DiskError, is_temporary};
use super::gap::Why;
use super::journal::Frame;
use super::state::Trouble;
use super::tick::Span;
use super::{Spool, length};

/// Set aside of the bound for the list of gaps, its temporary twin and the lock file.
const RESERVED_BYTES: u64 = 8_192;

/// The folder of what could not be read back.
#[derive(Debug)]
pub(super) struct Aside {
    folder: PathBuf,
    pub(super) bytes: u64,
}

impl Aside {
    pub(super) fn open(disk: &dyn Disk, folder: PathBuf) -> Result<Self, DiskError> {
        let mut aside = Self { folder, bytes: 0 };
        for left in disk.list(&aside.folder)?.iter().filter(|e| is_temporary(&e.name)) {
            disk.remove(&aside.folder.join(&left.name))?;
        }
        aside.count(disk)?;
        Ok(aside)
    }

    /// Looks what is there: others put files into the folder.
    pub(super) fn count(&mut self, disk: &dyn Disk) -> Result<(), DiskError> {
        self.bytes = disk.list(&self.folder)?.iter().map(|e| e.bytes).sum();
        Ok(())
    }

    /// Removes the oldest file; `false` where there is none.
    fn drop_oldest(&mut self, disk: &dyn Disk) -> Result<bool, DiskError> {
        let Some(oldest) = disk.list(&self.folder)?.into_iter().next() else {
            self.bytes = 0;
            return Ok(false);
        };
        disk.remove(&self.folder.join(&oldest.name))?;
        self.bytes = self.bytes.saturating_sub(oldest.bytes);
        Ok(true)
    }
}

impl Spool {
    /// Bytes on disk, with what is reserved.
    pub(super) fn used(&self) -> u64 {
        RESERVED_BYTES + self.journal.bytes() + self.outbox.bytes() + self.aside.bytes
    }

    /// Drops what has to go before `need` more bytes may be written; `false` where nothing is left to drop. `spared`
    /// is the interval for which the room is wanted.
    pub(super) fn make_room(&mut self, need: u64, spared: Option<u64>, wall_ms: i64) -> Result<bool, DiskError> {
        if RESERVED_BYTES.saturating_add(need) > self.limits.spool_max_bytes {
            return Ok(false);
        }
        while self.used().saturating_add(need) > self.limits.spool_max_bytes {
            if self.aside.bytes > 0 && self.aside.drop_oldest(&*self.disk)? {
                self.counts.dropped_aside_files += 1;
                continue;
            }
            let parcels = self.outbox.parcels.iter().map(|p| (p.number, p.span));
            let files = self.journal.files.iter().filter_map(|f| f.span.map(|s| (f.number, s)));
            let oldest = parcels.chain(files).filter(|(n, _)| Some(*n) != spared).min_by_key(|(n, _)| *n);
            let Some((number, span)) = oldest else {
                if self.journal.drop_last_sealed(&*self.disk)? {
                    continue;
                }
                return Ok(false);
            };
            self.note(span, Why::Bound, wall_ms);
            self.outbox.drop_parcel(&*self.disk, number)?;
            self.journal.drop_file(&*self.disk, number)?;
            self.counts.dropped_bound_ticks += span.ticks;
            self.trouble(Trouble::Dropped { ticks: span.ticks });
        }
        Ok(true)
    }

    /// Holds the memory's bound over what the disk did not take: the oldest go first.
    pub(super) fn trim_kept(&mut self) {
        let limits = self.limits;
        let over = |kept: &VecDeque<Frame>| {
            kept.len() > limits.kept_max_ticks
                || kept.iter().map(|f| f.bytes.len()).sum::<usize>() > limits.kept_max_bytes
        };
        while over(&self.kept)
            && let Some(oldest) = self.kept.pop_front()
        {
            self.note(oldest.span, Why::DiskFull, oldest.span.to_ms);
            self.counts.dropped_full_ticks += oldest.span.ticks;
            self.trouble(Trouble::Full { ticks: oldest.span.ticks });
        }
    }

    /// Brings what is in memory to the journal, oldest first, until the disk refuses.
    pub(super) fn write_kept(&mut self) {
        while let Some(frame) = self.kept.front() {
            let (need, span) = (length(&frame.bytes), frame.span);
            match self.make_room(need, None, span.to_ms) {
                Ok(true) => {}
                Ok(false) => {
                    // it alone is larger than all that may be
                    self.kept.pop_front();
                    self.note(span, Why::TooLarge, span.to_ms);
                    self.counts.dropped_large_ticks += span.ticks;
                    self.trouble(Trouble::Bound { bytes: need });
                    continue;
                }
                Err(e) => return self.trouble(e.into()),
            }
            let Some(frame) = self.kept.front() else { return };
            if let Err(e) = self.journal.append(&*self.disk, frame, self.seal_ticks) {
                return self.trouble(e.into());
            }
            self.kept.pop_front();
        }
    }

    /// Notes a gap and stores it, before its rows go. Where it cannot be stored now it is stored later: the bound
    /// holds in any case.
    pub(super) fn note(&mut self, span: Span, why: Why, wall_ms: i64) {
        self.gaps.note(span, why, wall_ms);
        self.store_gaps();
    }

    /// Stores the gaps, where they changed.
    pub(super) fn store_gaps(&mut self) {
        if let Err(e) = self.gaps.store(&*self.disk) {
            self.trouble(e.into());
        }
    }
}
