//! What a job does with a card it holds, minute by minute: a pure function of the job, the card's rank and the time.

use super::clock::MINUTE_MS;
use super::rng::mix_below;

/// How work is spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All the time, with a pause (checkpoint, validation) of some minutes in every so many.
    Steady {
        /// Length of a round in minutes.
        every: i64,
        /// Minutes of pause in it.
        pause: i64,
    },
    /// In blocks of so many minutes, on in so many percent of them.
    Bursts {
        /// Length of a block in minutes.
        block: i64,
        /// Part of blocks with work.
        on_percent: i64,
    },
    /// A service: follows the local hour.
    Daily,
    /// Never: no process of it ever shows up on a card.
    Never,
    /// Only in the first minutes of the run, then nothing.
    First {
        /// Minutes with work.
        minutes: i64,
    },
}

/// The habits of a kind of job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Percent of a working minute in which kernels run.
    pub(super) busy: i64,
    /// How far that varies either way.
    pub(super) swing: i64,
    /// When it works.
    pub(super) shape: Shape,
    /// SM, DRAM and tensor activity per 100 of busy.
    pub(super) parts: [i64; 3],
    /// Percent of the memory it can have.
    pub(super) memory: i64,
    /// Cards of each node that it really uses; 0 means all.
    pub(super) cards: usize,
    /// Host memory in GiB per process.
    pub(super) host_gib: i64,
    /// MiB read from storage in a working minute.
    pub(super) read_mib: i64,
    /// Percent of the power that its activity would ask for: what spins or waits for input stays cool.
    pub(super) heat: i64,
    /// Command name of its processes.
    pub(super) command: &'static str,
}

/// One process on one card, for asking what it does when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doing {
    /// Seed of job and card.
    pub(super) seed: u64,
    /// When it began.
    pub(super) from_ms: i64,
    /// Memory it can have, in MiB.
    pub(super) memory_mib: i64,
}

/// Percent of a service's peak by local hour, on workdays.
const DAILY: [i64; 24] =
    [22, 18, 15, 14, 15, 20, 32, 50, 72, 88, 96, 100, 92, 90, 98, 100, 96, 88, 76, 66, 58, 48, 38, 28];
/// Percent of a workday that a weekend's hour has.
const WEEKEND_PERCENT: i64 = 55;
/// Minutes until a process has its full memory.
const RAMP_MINUTES: i64 = 4;

impl Load {
    /// Percent of the minute at `now_ms` in which its kernels run; `hour` is the local hour and whether it is a workday.
    pub(super) fn percent(&self, doing: &Doing, now_ms: i64, hour: (u8, bool)) -> i64 {
        let minute = (now_ms - doing.from_ms).max(0) / MINUTE_MS;
        let level = match self.shape {
            Shape::Steady { every, pause } => {
                let lag = mix_below(doing.seed, 3, every);
                if (minute + lag) % every < pause { self.busy / 10 } else { self.busy }
            }
            Shape::Bursts { block, on_percent } => {
                let on = mix_below(doing.seed, 1_000 + (minute / block) as u64, 100) < on_percent;
                if on { self.busy } else { 0 }
            }
            Shape::Daily => {
                let peak = DAILY[usize::from(hour.0) % 24] * self.busy / 100;
                if hour.1 { peak } else { peak * WEEKEND_PERCENT / 100 }
            }
            Shape::First { minutes } if minute < minutes => self.busy,
            Shape::First { .. } | Shape::Never => return 0,
        };
        if level == 0 {
            return 0;
        }
        // A level that drifts slowly and jitters a little looks, and compresses, like measured minutes.
        let drift = mix_below(doing.seed, 2_000_000 + (minute / 20) as u64, 2 * self.swing + 1) - self.swing;
        let jitter = mix_below(doing.seed, 4_000_000 + minute as u64, 5) - 2;
        (level + drift + jitter).clamp(1, 100)
    }

    /// Memory on the card in MiB: a ramp, then a level with small steps.
    pub(super) fn memory(&self, doing: &Doing, now_ms: i64) -> i64 {
        let minute = (now_ms - doing.from_ms).max(0) / MINUTE_MS;
        let full = doing.memory_mib * self.memory / 100;
        if minute < RAMP_MINUTES {
            return full / 3;
        }
        full + mix_below(doing.seed, 6_000_000 + (minute / 45) as u64, 9) * 64
    }
}
