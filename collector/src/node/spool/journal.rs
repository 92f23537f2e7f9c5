//! The journal: one file of frames for each interval that will be sealed together.
//!
//! A file is numbered, grows until its interval is over or the process ends, is never reopened for writing, and is
//! sealed as a whole. The last one sealed is kept, out of the way, so that a tick that comes again after a restart is
//! known.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use gpuledger_schema::table::ReadingRow;

use super::disk::{Disk, DiskError, is_temporary, put_whole};
use super::frame::{self, Tail};
use super::tick::{Key, Span, Tick};

/// How a journal file's name ends.
const SUFFIX: &str = ".frames";
/// The name of the last file that was sealed.
const LAST_SEALED: &str = "last.sealed";
/// Ticks remembered, so that none goes in twice: six weeks of minutes.
const KEYS_MAX: usize = 65_536;

/// A frame and what the journal must know of it.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) key: Option<Key>,
    pub(super) span: Span,
}

/// What was set aside, and what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetAside {
    pub(super) number: u64,
    pub(super) tail: Tail,
    pub(super) bytes: u64,
    /// The time that was read well before it in its file.
    pub(super) after: Option<Span>,
}

/// A journal file.
#[derive(Debug)]
pub(super) struct JournalFile {
    pub(super) number: u64,
    /// Its whole frames.
    pub(super) bytes: u64,
    /// Bytes of a failed append that could not be cut off yet.
    excess: u64,
    first: Option<Key>,
    pub(super) span: Option<Span>,
    closed: bool,
    /// Whether its name is known to be on disk.
    listed: bool,
}

/// The journal's folder.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    aside: PathBuf,
    pub(super) files: VecDeque<JournalFile>,
    keys: Keys,
    last_sealed_bytes: u64,
    /// Number of the next file; above that of every file and parcel that is there.
    pub(super) next: u64,
}

/// What opening found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) set_aside: Vec<SetAside>,
    /// Readings in frames that are not sealed: gaps among them were noted before a crash.
    pub(super) readings: Vec<ReadingRow>,
}

impl Journal {
    /// Reads what is there. Torn ends are set aside and cut off; no file that is there grows again.
    pub(super) fn open(disk: &dyn Disk, folder: PathBuf, aside: PathBuf) -> Result<(Self, Found), DiskError> {
        let mut journal =
            Self { folder, aside, files: VecDeque::new(), keys: Keys::default(), last_sealed_bytes: 0, next: 1 };
        let mut found = Found::default();
        if let Some(bytes) = disk.read(&journal.folder.join(LAST_SEALED))? {
            journal.last_sealed_bytes = length(&bytes);
            frame::scan(&bytes).ticks.iter().filter_map(Tick::key).for_each(|k| journal.keys.take(k, 0));
        }
        for entry in disk.list(&journal.folder)? {
            if is_temporary(&entry.name) {
                disk.remove(&journal.folder.join(&entry.name))?;
            }
            let Some(number) = entry.name.strip_suffix(SUFFIX).and_then(|n| n.parse().ok()) else { continue };
            let mut file = JournalFile::new(number);
            (file.closed, file.listed) = (true, true);
            journal.next = journal.next.max(number + 1);
            let (ticks, set_aside) = journal.load(disk, &mut file)?;
            for tick in ticks {
                tick.key().into_iter().for_each(|k| journal.keys.take(k, number));
                found.readings.extend(tick.readings);
            }
            found.set_aside.extend(set_aside);
            journal.files.push_back(file);
        }
        Ok((journal, found))
    }

    /// Whether a tick is in the journal, or was in what was last sealed.
    pub(super) fn knows(&self, key: Key) -> bool {
        self.keys.owner.contains_key(&key)
    }

    /// Adds a frame to the file of its interval of so many ticks: durable when this returns, else as if it had not
    /// been tried.
    pub(super) fn append(&mut self, disk: &dyn Disk, frame: &Frame, ticks: u32) -> Result<(), DiskError> {
        if !self.files.back().is_some_and(|f| f.takes(frame.key, ticks)) {
            self.close();
            self.files.push_back(JournalFile::new(self.next));
            self.next += 1;
        }
        let Some(file) = self.files.back_mut() else { return Ok(()) };
        let path = self.folder.join(file.name());
        file.cut(disk, &self.folder)?;
        file.excess = length(&frame.bytes);
        let done =
            disk.append(&path, &frame.bytes).and_then(|()| if file.listed { Ok(()) } else { disk.sync(&self.folder) });
        if let Err(failed) = done {
            // what cannot be cut off now is cut off before the file is used again
            _ = file.cut(disk, &self.folder);
            return Err(failed);
        }
        (file.bytes, file.excess, file.listed) = (file.bytes + file.excess, 0, true);
        file.first = file.first.or(frame.key);
        file.span = Some(file.span.map_or(frame.span, |s| s.and(frame.span)));
        frame.key.into_iter().for_each(|k| self.keys.take(k, file.number));
        Ok(())
    }

    /// No file that is there grows any more.
    pub(super) fn close(&mut self) {
        self.files.iter_mut().for_each(|f| f.closed = true);
    }

    /// The files whose interval of so many ticks is over at a tick's number, oldest first.
    pub(super) fn due(&self, seq: i64, ticks: u32) -> Vec<u64> {
        self.files.iter().filter(|f| f.closed || !f.same_interval(seq, ticks)).map(|f| f.number).collect()
    }

    /// Whether a file is there.
    pub(super) fn has(&self, number: u64) -> bool {
        self.files.iter().any(|f| f.number == number)
    }

    /// The ticks of a file, each once and not if an earlier file has it.
    pub(super) fn read(&mut self, disk: &dyn Disk, number: u64) -> Result<(Vec<Tick>, Option<SetAside>), DiskError> {
        let Some(at) = self.files.iter().position(|f| f.number == number) else { return Ok((Vec::new(), None)) };
        let mut file = JournalFile { closed: true, ..JournalFile::new(number) };
        self.files[at].closed = true;
        self.files[at].cut(disk, &self.folder)?;
        file.listed = self.files[at].listed;
        let (mut ticks, set_aside) = self.load(disk, &mut file)?;
        let mut seen = Vec::new();
        ticks.retain(|tick| match tick.key() {
            Some(key) => {
                let again = seen.contains(&key) || self.keys.owner.get(&key).is_some_and(|n| *n != number);
                seen.push(key);
                !again
            }
            None => true,
        });
        self.files[at] = file;
        Ok((ticks, set_aside))
    }

    /// A file was sealed and its segments are safe: it leaves the journal in one step.
    pub(super) fn sealed(&mut self, disk: &dyn Disk, number: u64) -> Result<(), DiskError> {
        let Some(file) = self.files.iter().find(|f| f.number == number) else { return Ok(()) };
        let (path, bytes) = (self.folder.join(file.name()), file.bytes);
        if file.first.is_some() {
            disk.rename(&path, &self.folder.join(LAST_SEALED))?;
            self.last_sealed_bytes = bytes;
        } else {
            disk.remove(&path)?;
        }
        self.files.retain(|f| f.number != number);
        disk.sync(&self.folder)
    }

    /// Drops a file.
    pub(super) fn drop_file(&mut self, disk: &dyn Disk, number: u64) -> Result<(), DiskError> {
        let Some(file) = self.files.iter().find(|f| f.number == number) else { return Ok(()) };
        disk.remove(&self.folder.join(file.name()))?;
        self.files.retain(|f| f.number != number);
        disk.sync(&self.folder)
    }

    /// Moves a whole file out of the way, for somebody to look at.
    pub(super) fn set_aside(&mut self, disk: &dyn Disk, number: u64) -> Result<(), DiskError> {
        let Some(file) = self.files.iter().find(|f| f.number == number) else { return Ok(()) };
        let bytes = disk.read(&self.folder.join(file.name()))?.unwrap_or_default();
        put_whole(disk, &self.aside, &aside_name(number, 0, &bytes, "unsealable"), &bytes)?;
        disk.sync(&self.aside)?;
        self.drop_file(disk, number)
    }

    /// Gives up knowing the ticks of the last sealed file after a restart; `false` where there is none to give up.
    pub(super) fn drop_last_sealed(&mut self, disk: &dyn Disk) -> Result<bool, DiskError> {
        disk.remove(&self.folder.join(LAST_SEALED))?;
        Ok(std::mem::take(&mut self.last_sealed_bytes) > 0)
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes + f.excess).sum::<u64>() + self.last_sealed_bytes
    }

    /// Reads a file into its description. What is behind its last whole frame is set aside, then cut off.
    fn load(&self, disk: &dyn Disk, file: &mut JournalFile) -> Result<(Vec<Tick>, Option<SetAside>), DiskError> {
        let path = self.folder.join(file.name());
        let bytes = disk.read(&path)?.unwrap_or_default();
        let scan = frame::scan(&bytes);
        let (good, rest) = bytes.split_at(scan.good_bytes);
        file.bytes = length(good);
        file.first = scan.ticks.iter().find_map(Tick::key);
        file.span = scan.ticks.iter().filter_map(Tick::span).reduce(Span::and);
        if scan.tail == Tail::None {
            return Ok((scan.ticks, None));
        }
        let kind = if scan.tail == Tail::Torn { "torn" } else { "damaged" };
        put_whole(disk, &self.aside, &aside_name(file.number, scan.good_bytes, rest, kind), rest)?;
        disk.sync(&self.aside)?;
        disk.cut(&path, file.bytes)?;
        let after = scan.ticks.last().and_then(Tick::span);
        Ok((scan.ticks, Some(SetAside { number: file.number, tail: scan.tail, bytes: length(rest), after })))
    }
}

impl JournalFile {
    fn new(number: u64) -> Self {
        Self { number, bytes: 0, excess: 0, first: None, span: None, closed: false, listed: false }
    }

    fn name(&self) -> String {
        format!("{:012}{SUFFIX}", self.number)
    }

    /// Whether a frame belongs into it. One that names no tick goes with whatever is open.
    fn takes(&self, key: Option<Key>, ticks: u32) -> bool {
        let same = match (self.first, key) {
            (Some(first), Some(key)) => first.boot_id == key.boot_id && self.same_interval(key.seq, ticks),
            _ => true,
        };
        !self.closed && same
    }

    /// Whether a tick lies in its interval. A file without ticks has none and waits for nothing.
    fn same_interval(&self, seq: i64, ticks: u32) -> bool {
        let ticks = i64::from(ticks.max(1));
        self.first.is_some_and(|first| first.seq.div_euclid(ticks) == seq.div_euclid(ticks))
    }

    /// Takes off what a failed append left.
    fn cut(&mut self, disk: &dyn Disk, folder: &Path) -> Result<(), DiskError> {
        if self.excess > 0 {
            disk.cut(&folder.join(self.name()), self.bytes)?;
            self.excess = 0;
        }
        Ok(())
    }
}

/// Which file has which tick; the first that has it keeps it.
#[derive(Debug, Default)]
struct Keys {
    owner: BTreeMap<Key, u64>,
    order: VecDeque<Key>,
}

impl Keys {
    fn take(&mut self, key: Key, number: u64) {
        if self.owner.contains_key(&key) {
            return;
        }
        self.owner.insert(key, number);
        self.order.push_back(key);
        if self.order.len() > KEYS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.owner.remove(&oldest);
        }
    }
}

/// A name that the same bytes from the same place always get, so that a crash while setting aside repeats it.
fn aside_name(number: u64, at: usize, bytes: &[u8], kind: &str) -> String {
    format!("{number:012}-{at}-{:08x}.{kind}", crc32c::crc32c(bytes))
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
