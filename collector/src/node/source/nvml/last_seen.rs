//! The driver's ring of utilization samples, read without missing or believing too much.
//!
//! The driver keeps 72 samples, about 10 s. A reader names the newest sample that it has seen and gets, for each
//! process that used the card since, the mean over the samples since. Three rules follow. What to name is the newest
//! time of a row, never "now": a sample may be written between the two. After silence the mean reaches back over the
//! silence, so it must be multiplied by the time it was taken over and not by the time between two polls. And rows
//! carry the wall clock, so a step of it must not be taken for the future.

use gpuledger_native::process::Utilization;

use super::look::{Rejects, Use};
use crate::node::seen::Moment;

/// What the driver's ring holds.
pub const RING_MS: i64 = 10_000;
/// How far a row's time may lie ahead of ours: the clocks are read one after the other.
const FUTURE_US: u64 = 5_000_000;
/// How far the newest row seen may lie ahead before the wall clock must have been put back.
const STEP_US: u64 = 1_000_000;
/// How much later than the poll that found it a row may have been written, by clocks read one after the other.
const SKEW_MS: i64 = 500;
/// A row may be a little older than the ring is long: its samples are not exactly 139 ms apart.
const OLDEST_US: u64 = 11_000_000;

/// The newest row of a card that was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastSeen {
    /// In microseconds by the wall clock, as the driver gave it.
    us: Option<u64>,
    /// The same by the boot clock.
    boot_ms: i64,
}

/// Rows that can be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sifted {
    /// One for each process.
    pub uses: Vec<Use>,
    /// What was left out.
    pub rejects: Rejects,
    /// Length of the time that the rows are means of.
    pub average_ms: i64,
}

impl LastSeen {
    /// What to name to the driver. Call it once before each read.
    pub fn ask(&mut self, now: Moment) -> u64 {
        let now_us = wall_us(now);
        if self.us.is_some_and(|us| us > now_us.saturating_add(STEP_US)) {
            self.us = Some(now_us.saturating_sub(STEP_US));
            self.boot_ms = now.boot_ms - (STEP_US / 1_000) as i64;
        }
        self.us.unwrap_or(0)
    }

    /// Believes what can be believed of the rows that were read at `now`, and remembers the newest.
    pub fn sift(&mut self, rows: &[Utilization], now: Moment) -> Sifted {
        let now_us = wall_us(now);
        let average_ms = match self.us {
            Some(_) => (now.boot_ms - self.boot_ms).clamp(0, RING_MS),
            None => RING_MS,
        };
        let oldest_us = now_us.saturating_sub(OLDEST_US).max(self.us.unwrap_or(0));
        let mut rejects = Rejects::default();
        let mut uses: Vec<Use> = Vec::new();
        for row in rows {
            let percents = [row.sm_percent, row.memory_percent, row.encoder_percent, row.decoder_percent];
            if row.pid == 0 {
                rejects.pid_zero += 1;
            } else if percents.iter().any(|p| *p > 100) {
                rejects.above_100 += 1;
            } else if row.at_us <= oldest_us {
                rejects.stale += 1;
            } else if row.at_us > now_us.saturating_add(FUTURE_US) {
                rejects.future += 1;
            } else {
                rejects.duplicate += u64::from(keep_newer(&mut uses, row));
            }
        }
        if let Some(newest_us) = uses.iter().map(|u| u.at_us).max() {
            self.us = Some(newest_us);
            self.boot_ms = boot_ms_of(newest_us, now);
        } else if self.us.is_none() {
            // the whole ring is silent: a little before now is as good a beginning, and a sample that is being written
            // is not missed
            self.us = Some(now_us.saturating_sub(STEP_US));
            self.boot_ms = now.boot_ms - (STEP_US / 1_000) as i64;
        }
        Sifted { uses, rejects, average_ms }
    }
}

impl Sifted {
    /// Start of the time that these rows speak of, of a window from `from_ms` to `now`: after a step of the wall clock
    /// they are means of the last second only.
    pub fn from_boot_ms(&self, from_ms: i64, now: Moment) -> i64 {
        let reached_ms = now.boot_ms - self.average_ms;
        if reached_ms > from_ms + SKEW_MS { reached_ms } else { from_ms }
    }
}

/// Puts a row among the others; says whether there was one of the same process, of which the newer now stands.
fn keep_newer(uses: &mut Vec<Use>, row: &Utilization) -> bool {
    let new = Use { pid: row.pid, at_us: row.at_us, percent: row.sm_percent };
    match uses.iter_mut().find(|u| u.pid == row.pid) {
        Some(old) => {
            if (new.at_us, new.percent) > (old.at_us, old.percent) {
                *old = new;
            }
            true
        }
        None => {
            uses.push(new);
            false
        }
    }
}

/// An instant of the wall clock by the boot clock, as both stand at `now`.
pub fn boot_ms_of(wall_us: u64, now: Moment) -> i64 {
    i64::try_from(wall_us / 1_000).unwrap_or(i64::MAX).saturating_sub(now.wall_ms - now.boot_ms)
}

fn wall_us(now: Moment) -> u64 {
    u64::try_from(now.wall_ms).unwrap_or(0).saturating_mul(1_000)
}

#[cfg(test)]
mod tests;
