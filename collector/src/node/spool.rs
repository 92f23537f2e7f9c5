//! From rows to the inbox: journal, sealed segments, delivery. Nothing is lost but what the stated bound drops, and that
//! is written down.
//!
//! ```text
//! <spool>/lock           who uses it
//! <spool>/journal/       frames, a tick each; a file an interval
//! <spool>/out/           sealed segments, until they are acknowledged
//! <spool>/aside/         what could not be read back
//! <spool>/gaps.json      what was dropped and is not in the journal yet
//! ```
//!
//! A tick is in the journal, then in `out/`, then in the inbox; it leaves a place only when it is durable in the next.
//! A crash between the two repeats the step to the same bytes under the same names. Nothing here reads a clock, makes
//! a thread or stops the program: what fails is tried again by the next round.

use std::collections::VecDeque;

mod ask;
mod bound;
mod disk;
mod frame;
mod gap;
mod inbox;
mod journal;
mod limits;
mod lock;
mod outbox;
mod seal;
mod state;
mod tick;

pub use ask::{Ask, AskError};
pub(crate) use disk::put_whole;
pub use disk::{Disk, DiskError, Entry, RealDisk};
pub use frame::{FrameError, PAYLOAD_BYTES_MAX};
pub use inbox::{Delivered, FolderInbox, Inbox, InboxError};
pub use limits::{Limits, LimitsError};
pub use lock::{LockError, SpoolLock};
pub use state::{Appended, Counts, OpenError, Round, SpoolState, Trouble};
pub use tick::{Key, Span, Tick};

use bound::Aside;
use frame::Tail;
use gap::{Gaps, Why};
use journal::{Frame, Journal, SetAside};
use outbox::Outbox;

use super::seen::{Moment, TICK_MS};
use std::path::Path;

/// Troubles kept for the next round; a disk that fails in every step says the same thing each time.
const TROUBLES_MAX: usize = 64;

/// Whose rows they are: they name no other node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Node name.
    pub node: String,
    /// Cluster of the node.
    pub cluster: String,
}

/// A node's spool.
#[derive(Debug)]
pub struct Spool {
    disk: Box<dyn Disk>,
    owner: Owner,
    limits: Limits,
    journal: Journal,
    outbox: Outbox,
    gaps: Gaps,
    aside: Aside,
    kept: VecDeque<Frame>,
    /// As asked in the last round.
    seal_ticks: u32,
    failures: u32,
    /// No delivery is tried before, ms since boot.
    wait_boot_ms: i64,
    counts: Counts,
    troubles: Vec<Trouble>,
    _lock: Option<SpoolLock>,
}

impl Spool {
    /// Opens the folder of a lock and goes on from what is there.
    pub fn open(lock: SpoolLock, owner: Owner, limits: Limits, now: Moment) -> Result<Self, OpenError> {
        let folder = lock.folder().to_owned();
        let mut spool = Self::open_on(Box::new(RealDisk), &folder, owner, limits, now)?;
        spool._lock = Some(lock);
        Ok(spool)
    }

    fn open_on(
        disk: Box<dyn Disk>,
        folder: &Path,
        owner: Owner,
        limits: Limits,
        now: Moment,
    ) -> Result<Self, OpenError> {
        let limits = limits.checked().map_err(OpenError::Limits)?;
        let [journal, out, aside] = ["journal", "out", "aside"].map(|f| folder.join(f));
        let made = [&journal, &out, &aside].into_iter().try_for_each(|f| disk.make_folder(f));
        made.and_then(|()| disk.sync(folder)).map_err(OpenError::Disk)?;

        let mut gaps = Gaps::open(&*disk, folder).map_err(OpenError::Disk)?;
        let (mut journal, found) = Journal::open(&*disk, journal, aside.clone()).map_err(OpenError::Disk)?;
        let outbox = Outbox::open(&*disk, out, aside.clone()).map_err(OpenError::Disk)?;
        journal.next = journal.next.max(outbox.parcels.back().map_or(0, |p| p.number) + 1);
        gaps.forget(&found.readings, &owner);
        let aside = Aside::open(&*disk, aside).map_err(OpenError::Disk)?;
        let mut spool = Self {
            disk,
            owner,
            limits,
            journal,
            outbox,
            gaps,
            aside,
            kept: VecDeque::new(),
            seal_ticks: limits.seal_ticks,
            failures: 0,
            wait_boot_ms: i64::MIN,
            counts: Counts::default(),
            troubles: Vec::new(),
            _lock: None,
        };
        for set_aside in found.set_aside {
            spool.was_set_aside(set_aside, None, now.wall_ms);
        }
        spool.room(now.wall_ms);
        spool.store_gaps();
        Ok(spool)
    }

    /// Takes a tick. It is on disk when this says [`Appended::Written`].
    pub fn append(&mut self, tick: &Tick) -> Appended {
        let Some(span) = tick.span() else { return Appended::Empty };
        let key = tick.key();
        let kept = |k: Key| self.kept.iter().any(|f| f.key == Some(k));
        if key.is_some_and(|k| self.journal.knows(k) || kept(k)) {
            self.counts.twice_ticks += 1;
            return Appended::Twice;
        }
        self.counts.taken_ticks += span.ticks;
        match frame::encode(tick) {
            Ok(bytes) => self.kept.push_back(Frame { bytes, key, span }),
            Err(e) => {
                self.note(span, Why::TooLarge, span.to_ms);
                self.counts.dropped_large_ticks += span.ticks;
                self.trouble(Trouble::Frame(e));
                return Appended::Dropped;
            }
        }
        let large = self.counts.dropped_large_ticks;
        self.write_kept();
        self.trim_kept();
        match self.kept.is_empty() {
            false => Appended::Kept,
            true if self.counts.dropped_large_ticks > large => Appended::Dropped,
            true => Appended::Written,
        }
    }

    /// One round of upkeep: what is in memory goes to the journal, what is due is sealed, what is sealed is sent, and
    /// the bounds hold. Call it after every tick, and as often between as delivery should be tried.
    pub fn maintain(&mut self, now: Moment, ask: Option<Ask>, inbox: &dyn Inbox) -> Round {
        self.seal_ticks = Ask::seal_ticks(ask, self.limits.seal_ticks, now.wall_ms);
        self.write_kept();
        self.store_gaps();
        self.journal_gaps();
        let due = self.journal.due(now.boot_ms.div_euclid(TICK_MS), self.seal_ticks);
        let sealed = self.seal_all(&due, now.wall_ms);
        let delivered = self.send(now, inbox);
        self.room(now.wall_ms);
        Round { sealed, delivered, troubles: std::mem::take(&mut self.troubles) }
    }

    /// Seals everything, as before an orderly end. What is sealed is sent by the next [`Spool::maintain`], in this
    /// process or the next one.
    pub fn flush(&mut self, now: Moment) -> Round {
        self.write_kept();
        self.store_gaps();
        self.journal_gaps();
        self.journal.close();
        let due: Vec<u64> = self.journal.files.iter().map(|f| f.number).collect();
        let sealed = self.seal_all(&due, now.wall_ms);
        Round { sealed, delivered: 0, troubles: std::mem::take(&mut self.troubles) }
    }

    /// Where it stands.
    pub fn state(&self) -> SpoolState {
        let parcels = self.outbox.parcels.iter().filter(|p| !self.journal.has(p.number)).map(|p| p.span);
        let files = self.journal.files.iter().filter_map(|f| f.span);
        let kept = self.kept.iter().map(|f| f.span);
        let on_disk = parcels.chain(files).reduce(Span::and);
        let oldest = on_disk.into_iter().chain(kept).reduce(Span::and);
        SpoolState {
            waiting_ticks: on_disk.map_or(0, |s| s.ticks),
            waiting_files: self.outbox.files(),
            used_bytes: self.used(),
            aside_bytes: self.aside.bytes,
            kept_ticks: u64::try_from(self.kept.len()).unwrap_or(u64::MAX),
            oldest_ms: oldest.map(|s| s.from_ms),
            failures: self.failures,
            counts: self.counts,
        }
    }

    fn seal_all(&mut self, numbers: &[u64], wall_ms: i64) -> u64 {
        let mut sealed = 0;
        for number in numbers.iter().copied() {
            match self.seal(number, wall_ms) {
                Ok(()) => sealed += 1,
                Err(trouble) => self.trouble(trouble),
            }
        }
        self.counts.sealed += sealed;
        sealed
    }

    /// Seals a journal file: segments first, then the file goes.
    fn seal(&mut self, number: u64, wall_ms: i64) -> Result<(), Trouble> {
        let until = self.journal.files.iter().find(|f| f.number == number).and_then(|f| f.span);
        let (ticks, set_aside) = self.journal.read(&*self.disk, number)?;
        set_aside.into_iter().for_each(|s| self.was_set_aside(s, until, wall_ms));
        let Some(span) = ticks.iter().filter_map(Tick::span).reduce(Span::and) else {
            return Ok(self.journal.sealed(&*self.disk, number)?);
        };
        let segments = match seal::segments(&self.owner.node, &ticks) {
            Ok(segments) => segments,
            Err(source) => {
                self.note(span, Why::Unsealable, wall_ms);
                self.journal.set_aside(&*self.disk, number)?;
                self.aside.count(&*self.disk)?;
                return Err(Trouble::Segment { number, source });
            }
        };
        let bytes = segments.iter().map(|s| length(&s.bytes)).sum();
        if !self.make_room(bytes, Some(number), wall_ms)? {
            self.note(span, Why::TooLarge, wall_ms);
            self.journal.drop_file(&*self.disk, number)?;
            self.counts.dropped_large_ticks += span.ticks;
            return Err(Trouble::Bound { bytes });
        }
        self.outbox.park(&*self.disk, number, span, &segments)?;
        Ok(self.journal.sealed(&*self.disk, number)?)
    }

    /// Sends, unless an earlier failure says to wait.
    fn send(&mut self, now: Moment, inbox: &dyn Inbox) -> u64 {
        if now.boot_ms < self.wait_boot_ms {
            return 0;
        }
        let journal = &self.journal;
        let sent = self.outbox.send(&*self.disk, inbox, self.limits.send_max_files, |n| journal.has(n));
        if sent.failed.is_empty() {
            self.failures = 0;
        } else {
            self.failures = self.failures.saturating_add(1);
            let pause_ms = pause_ms(&self.limits, self.failures, &self.owner.node);
            self.wait_boot_ms = now.boot_ms.saturating_add(pause_ms);
        }
        for span in sent.rotten {
            self.note(span, Why::Damaged, now.wall_ms);
            self.counts.damaged += 1;
        }
        if let Err(e) = self.aside.count(&*self.disk) {
            self.trouble(e.into());
        }
        sent.failed.into_iter().map(Trouble::Inbox).for_each(|t| self.trouble(t));
        sent.broken.into_iter().map(Trouble::Disk).for_each(|t| self.trouble(t));
        self.counts.delivered_files += sent.files;
        sent.files
    }

    /// Once dropping has ended, gaps go into the journal like any row; in a file of their own, so that what is sealed
    /// with them does not seem to speak of their time.
    fn journal_gaps(&mut self) {
        if self.gaps.is_empty() || self.failures > 0 || !self.kept.is_empty() {
            return;
        }
        let tick = Tick { readings: self.gaps.rows(&self.owner), ..Tick::default() };
        let (Some(span), Ok(bytes)) = (tick.span(), frame::encode(&tick)) else { return };
        if self.used().saturating_add(length(&bytes)) > self.limits.spool_max_bytes {
            return;
        }
        self.journal.close();
        let written = self.journal.append(&*self.disk, &Frame { bytes, key: None, span }, self.seal_ticks);
        self.journal.close();
        match written {
            Ok(()) => self.gaps.forget(&tick.readings, &self.owner),
            Err(e) => self.trouble(e.into()),
        }
        self.store_gaps();
    }

    /// Counts what was set aside, and notes a gap where acknowledged ticks may be in it. `until` is the time that the
    /// file was known to reach to; of a file of an earlier process it is the next file's start, or now.
    fn was_set_aside(&mut self, set_aside: SetAside, until: Option<Span>, wall_ms: i64) {
        let SetAside { number, tail, bytes, after } = set_aside;
        if tail == Tail::Torn && until.is_none() {
            self.counts.torn_frames += 1;
            return self.trouble(Trouble::Torn { bytes });
        }
        let spans = |later: bool| {
            let files =
                self.journal.files.iter().filter(move |f| if later { f.number > number } else { f.number < number });
            files.filter_map(|f| f.span)
        };
        let to_ms = until.map(|s| s.to_ms).or_else(|| spans(true).next().map(|s| s.from_ms)).unwrap_or(wall_ms);
        let from_ms = after.or(spans(false).next_back()).map(|s| s.to_ms).or(until.map(|s| s.from_ms)).unwrap_or(to_ms);
        let span = Span { from_ms: from_ms.min(to_ms), to_ms: from_ms.max(to_ms), ticks: 0 };
        self.note(span, Why::Damaged, wall_ms);
        self.counts.damaged += 1;
        self.trouble(Trouble::Damaged { number, bytes });
    }

    /// Holds the bound, whatever went before.
    fn room(&mut self, wall_ms: i64) {
        if let Err(e) = self.make_room(0, None, wall_ms) {
            self.trouble(e.into());
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        if self.troubles.len() < TROUBLES_MAX {
            self.troubles.push(trouble);
        }
    }
}

/// How long to wait after so many failures: doubled each time, the second half of it by the node's name, so that a
/// thousand nodes do not come back to a lake in the same second. The name is all the randomness this needs.
fn pause_ms(limits: &Limits, failures: u32, node: &str) -> i64 {
    let doubled = limits.retry_first_ms.saturating_mul(1_i64 << failures.saturating_sub(1).min(30));
    let half = doubled.min(limits.retry_max_ms) / 2;
    let spread = gpuledger_schema::id::id63("pause", &[node, &failures.to_string()]);
    half + spread % (half + 1)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
