//! From polls to a tick: how long each process kept a card busy.
//!
//! A poll says what share of a window each process had work on the card's engine. Its busy time in that window is that
//! share; the processes of a card together never get more than the window. Windows lie on the boot clock, are cut at
//! the tick's edges by telescoping floors, and a time that no poll speaks of is simply not covered. Zero is written
//! only for a process that was there while the driver answered.

use std::collections::{BTreeMap, BTreeSet};

use super::seen::{Absent, Measure, Process};
use super::source::nvml::last_seen::{RING_MS, boot_ms_of};
use super::source::nvml::look::{CardPoll, Place, RatesPpm, Rejects, Use};

mod sum;

use self::sum::Sum;

/// Parts per million in a percent.
const PERCENT_PPM: i64 = 10_000;
/// A poll's newest row is at most this much older than the poll: the driver writes six or seven a second.
const LAG_MS: i64 = 500;
/// Clock ticks of `/proc` last this long on every Linux in use.
const CLOCK_TICK_MS: i64 = 10;
/// How exactly a row's time can be compared with a process's start.
const START_SLACK_MS: i64 = 500;
/// What is said of a listed process while a card is used by a process id that means nothing here.
const OTHER_NAMESPACE: &str = "process ids of another namespace";

/// What `/proc` knows of process ids.
pub trait PidMap {
    /// The process that has this host pid now.
    fn process(&self, pid: u32) -> Option<Process>;
    /// Host pids of the processes that are `pid` in a namespace of their own.
    fn host_pids(&self, pid: u32) -> Vec<u32>;
    /// Whether every process of the host can be seen: the collector is in the host's process-id namespace.
    fn sees_host(&self) -> bool;
}

/// Who used a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A process that was seen alive.
    Known(Process),
    /// A process id of which nothing is known: it was gone before it could be read, or is of another namespace.
    Unknown(u32),
}

impl Who {
    /// The process id.
    pub const fn pid(self) -> u32 {
        match self {
            Self::Known(process) => process.pid,
            Self::Unknown(pid) => pid,
        }
    }
}

/// A process in a place of a card.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// UUID of the MIG instance, where it is in one.
    pub instance: Option<String>,
    /// Who it is.
    pub who: Who,
}

/// What a process did on a card during a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessUse {
    /// Time it kept the card busy.
    pub busy_ms: Measure<i64>,
    /// Time it was looked at.
    pub covered_ms: i64,
    /// Highest poll.
    pub peak_ppm: Measure<i64>,
    /// Most memory that a poll saw.
    pub memory_peak_bytes: Measure<i64>,
}

/// What became of a card during a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardUse {
    /// Time that polls speak of.
    pub covered_ms: i64,
    /// Whether its processes were listed at all, so that who is not there was not there.
    pub listed: Measure<()>,
    /// Utilization of the card over that time.
    pub rates: RatesPpm,
    /// Its processes.
    pub processes: BTreeMap<Key, ProcessUse>,
    /// Rows of utilization that were rejected.
    pub rejects: Rejects,
}

/// One poll's window.
#[derive(Debug, Clone)]
struct Span {
    from_ms: i64,
    to_ms: i64,
    measured: Measure<()>,
    listed: Measure<()>,
    rates: Measure<RatesPpm>,
    parts: Vec<Part>,
}

/// A process in a window.
#[derive(Debug, Clone)]
struct Part {
    key: Key,
    /// When it came, if inside the window.
    from_ms: i64,
    busy_ms: Measure<i64>,
    peak_ppm: Measure<i64>,
    memory_bytes: Option<Measure<i64>>,
}

/// Gathers the polls of one card.
#[derive(Debug, Default)]
pub struct Meter {
    spans: Vec<Span>,
    rejects: Rejects,
    /// Who had a pid when it was last read.
    identities: BTreeMap<u32, Process>,
    /// Namespaced pids of the driver's lists, and whom they have been found to mean.
    aliases: BTreeMap<u32, Process>,
}

impl Meter {
    /// Takes a poll in. `pids` answers for the moment of the poll, so call it soon after.
    pub fn add(&mut self, poll: CardPoll, pids: &dyn PidMap) {
        self.rejects.add(poll.rejects);
        let uses: &[Use] = poll.uses.as_deref().unwrap_or_default();
        let now = self.read_identities(&poll.places, uses, pids);
        self.find_aliases(&poll.places, uses, pids);

        let to_ms = poll.at.boot_ms;
        let from_ms = poll.from_boot_ms.max(to_ms - RING_MS).min(to_ms);
        let measured = match &poll.uses {
            Ok(_) if from_ms == to_ms => Err(Absent::NoEarlier),
            Ok(_) => Ok(()),
            Err(why) => Err(why.clone()),
        };
        let mut parts = self.listed(&poll.places, &now, from_ms, to_ms);
        let stranger = self.used(&mut parts, &poll, &now, from_ms);
        for part in &mut parts {
            if let Err(why) = &measured {
                part.busy_ms = Err(why.clone());
                part.peak_ppm = Err(why.clone());
            } else if stranger && !pids.sees_host() && part.peak_ppm == Ok(0) {
                // one of the listed processes is the stranger, and nobody here can say which
                part.busy_ms = Err(Absent::Failed(OTHER_NAMESPACE.to_owned()));
                part.peak_ppm = Err(Absent::Failed(OTHER_NAMESPACE.to_owned()));
            }
        }
        share(&mut parts, to_ms - from_ms, to_ms);
        self.identities.extend(now);
        let unlisted = poll.places.iter().find_map(|p| p.processes.as_ref().err().cloned());
        let listed = unlisted.map_or(Ok(()), Err);
        self.spans.push(Span { from_ms, to_ms, measured, listed, rates: poll.rates, parts });
    }

    /// Who has each pid now.
    fn read_identities(&self, places: &[Place], uses: &[Use], pids: &dyn PidMap) -> BTreeMap<u32, Process> {
        let listed = places.iter().filter_map(|p| p.processes.as_ref().ok()).flatten().map(|p| p.pid);
        let wanted: BTreeSet<u32> = listed.chain(uses.iter().map(|u| u.pid)).collect();
        wanted.into_iter().filter_map(|pid| Some((pid, pids.process(pid)?))).collect()
    }

    /// A list may give pids of a container where the utilization rows give the host's: such a pid is found through the
    /// host process that is called so in its own namespace.
    fn find_aliases(&mut self, places: &[Place], uses: &[Use], pids: &dyn PidMap) {
        self.aliases.retain(|_, process| pids.process(process.pid) == Some(*process));
        let listed: BTreeSet<u32> =
            places.iter().filter_map(|p| p.processes.as_ref().ok()).flatten().map(|p| p.pid).collect();
        let strangers: Vec<u32> = uses.iter().map(|u| u.pid).filter(|pid| !listed.contains(pid)).collect();
        if strangers.is_empty() {
            return;
        }
        for inner in listed {
            let found = pids.host_pids(inner).into_iter().find(|host| strangers.contains(host));
            if let Some(process) = found.and_then(|host| pids.process(host)) {
                self.aliases.insert(inner, process);
            }
        }
    }

    /// Processes that the lists name, as idle until a row says otherwise.
    fn listed(&self, places: &[Place], now: &BTreeMap<u32, Process>, from_ms: i64, to_ms: i64) -> Vec<Part> {
        let mut parts = Vec::new();
        for place in places {
            for present in place.processes.as_deref().unwrap_or_default() {
                let process = self.aliases.get(&present.pid).or_else(|| now.get(&present.pid));
                // gone since it was listed: it was who it was at the poll before
                let process = process.or_else(|| self.identities.get(&present.pid));
                let who = process.map_or(Who::Unknown(present.pid), |p| Who::Known(*p));
                parts.push(Part {
                    key: Key { instance: place.instance.clone(), who },
                    from_ms: started_ms(who).clamp(from_ms, to_ms),
                    busy_ms: Ok(0),
                    peak_ppm: Ok(0),
                    memory_bytes: Some(present.memory_bytes.clone()),
                });
            }
        }
        parts
    }

    /// Gives each row to its process; says whether one of them is nobody that is known.
    fn used(&self, parts: &mut Vec<Part>, poll: &CardPoll, now: &BTreeMap<u32, Process>, from_ms: i64) -> bool {
        let mut stranger = false;
        let window_ms = poll.at.boot_ms - from_ms;
        for one in poll.uses.as_deref().unwrap_or_default() {
            let who = self.user(one, now, boot_ms_of(one.at_us, poll.at));
            stranger |= matches!(who, Who::Unknown(_));
            let busy_of = |ms: i64| i64::from(one.percent) * ms / 100;
            let peak_ppm = i64::from(one.percent) * PERCENT_PPM;
            let own = parts.iter().position(|p| p.key.who == who);
            let part = match own {
                Some(at) => &mut parts[at],
                None => {
                    let key = Key { instance: None, who };
                    let from_ms = started_ms(who).clamp(from_ms, poll.at.boot_ms);
                    parts.push(Part { key, from_ms, busy_ms: Ok(0), peak_ppm: Ok(0), memory_bytes: None });
                    let last = parts.len() - 1;
                    &mut parts[last]
                }
            };
            // A mean begins at the row seen last, a little before the poll before this one. Of who was there then that
            // little was counted with that poll; who came since did all of it since, and over silence all is new.
            let is_lag = poll.average_ms > window_ms && poll.average_ms - window_ms <= LAG_MS;
            let spoken_ms = if is_lag && part.from_ms <= from_ms { window_ms } else { poll.average_ms };
            part.busy_ms = Ok(busy_of(spoken_ms));
            part.peak_ppm = Ok(peak_ppm);
        }
        stranger
    }

    /// Whose row it is: a row from before the start of the process that has the pid now is its predecessor's.
    fn user(&self, one: &Use, now: &BTreeMap<u32, Process>, at_boot_ms: i64) -> Who {
        let before = self.identities.get(&one.pid);
        match now.get(&one.pid) {
            Some(process) if at_boot_ms + START_SLACK_MS >= started_ms(Who::Known(*process)) => Who::Known(*process),
            Some(process) => before.filter(|p| *p != process).map_or(Who::Unknown(one.pid), |p| Who::Known(*p)),
            None => before.map_or(Who::Unknown(one.pid), |p| Who::Known(*p)),
        }
    }

    /// The tick from `from_ms` to `to_ms` by the boot clock; what polls say of later is kept for the next.
    pub fn close(&mut self, from_ms: i64, to_ms: i64) -> CardUse {
        let mut tick = Sum::default();
        for span in &self.spans {
            let clipped = (span.from_ms.max(from_ms), span.to_ms.min(to_ms));
            // a poll at the end of the window belongs to it, one at its start to the window before
            if clipped.0 < clipped.1 || (span.from_ms == span.to_ms && span.to_ms > from_ms && span.to_ms <= to_ms) {
                tick.add(span, clipped.0, clipped.1, &self.aliases);
            }
        }
        self.spans.retain(|span| span.to_ms > to_ms);
        let ahead = self.spans.iter().flat_map(|s| &s.parts).map(|p| p.key.who.pid());
        let alive: BTreeSet<u32> = tick.processes.keys().map(|k| k.who.pid()).chain(ahead).collect();
        self.identities.retain(|pid, _| alive.contains(pid));
        tick.finish(std::mem::take(&mut self.rejects))
    }
}

/// When a process started, by the boot clock.
fn started_ms(who: Who) -> i64 {
    match who {
        Who::Known(process) => {
            i64::try_from(process.start_ticks).unwrap_or(i64::MAX / 100).saturating_mul(CLOCK_TICK_MS)
        }
        Who::Unknown(_) => i64::MIN,
    }
}

/// Holds the busy times of a window down to it: each to the time that the process was there, all together to the
/// window, split in proportion and floored.
fn share(parts: &mut [Part], window_ms: i64, to_ms: i64) {
    let mut wanted_ms = 0;
    for part in parts.iter_mut() {
        if let Ok(busy_ms) = &mut part.busy_ms {
            *busy_ms = (*busy_ms).min(to_ms - part.from_ms);
            wanted_ms += *busy_ms;
        }
    }
    if wanted_ms > window_ms {
        for busy_ms in parts.iter_mut().filter_map(|p| p.busy_ms.as_mut().ok()) {
            *busy_ms = *busy_ms * window_ms / wanted_ms;
        }
    }
}

#[cfg(test)]
mod tests;
