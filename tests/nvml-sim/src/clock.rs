//! Time of the simulation: a scenario time that never goes back, and a wall clock that may step.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::scenario::{ClockConfig, ClockMode};

/// A wall clock that moved less than this against the scenario's time did not step: it was read a little later.
const STEP_US: i64 = 100_000;

/// The longest that a scenario runs, so that no sum of times overflows: a century.
const LONGEST_US: i64 = 100 * 366 * 86_400 * 1_000_000;

/// The clock of a simulation.
#[derive(Debug)]
pub(crate) struct Clock {
    source: Source,
    /// Scenario time of the last look, in microseconds.
    now: i64,
    /// Wall clock less scenario time, from each scenario time on.
    offsets: Vec<(i64, i64)>,
}

#[derive(Debug)]
enum Source {
    Live { origin_boot_us: i64, scale: f64 },
    Told,
    File(PathBuf),
}

impl Clock {
    /// A clock as the scenario says; a time file goes before that.
    pub(crate) fn new(config: &ClockConfig, file: Option<PathBuf>) -> Self {
        let (source, wall) = match (file, config.mode) {
            (Some(path), _) => (Source::File(path), config.start_wall_us),
            (None, ClockMode::Virtual) => (Source::Told, config.start_wall_us),
            (None, ClockMode::Live) => {
                let (wall, boot) = (kernel_us(libc::CLOCK_REALTIME), kernel_us(libc::CLOCK_BOOTTIME));
                let origin_boot_us = config.origin_boot_us.unwrap_or(boot);
                (Source::Live { origin_boot_us, scale: config.scale }, wall - (boot - origin_boot_us))
            }
        };
        let mut clock = Self { source, now: 0, offsets: vec![(0, wall)] };
        clock.look();
        clock
    }

    /// Reads the time: microseconds of the scenario.
    pub(crate) fn look(&mut self) -> i64 {
        match &self.source {
            Source::Told => {}
            Source::Live { origin_boot_us, scale } => {
                let passed = kernel_us(libc::CLOCK_BOOTTIME) - origin_boot_us;
                let now = (passed as f64 * scale) as i64;
                let real_time = *scale == 1.0;
                self.now = self.now.max(now.min(LONGEST_US));
                if real_time {
                    self.wall_is(kernel_us(libc::CLOCK_REALTIME));
                }
            }
            Source::File(path) => {
                if let Some((wall, now)) = std::fs::read_to_string(path).ok().as_deref().and_then(parse) {
                    self.now = self.now.max(now.min(LONGEST_US));
                    self.wall_is(wall);
                }
            }
        }
        self.now
    }

    /// Wall clock at a scenario time up to now: what a stamp taken then says.
    pub(crate) fn wall(&self, at: i64) -> i64 {
        let offset = self.offsets.iter().rev().find(|(from, _)| *from <= at).or(self.offsets.first());
        at.saturating_add(offset.map_or(0, |(_, offset)| *offset))
    }

    /// Sets the wall clock of a told clock: forward takes the scenario's time along, back is a step.
    pub(crate) fn set_wall(&mut self, wall: i64) {
        let ahead = wall.saturating_sub(self.wall(self.now));
        if ahead >= 0 {
            self.advance(ahead);
        } else {
            self.wall_is(wall);
        }
    }

    /// Lets time go by on a told clock.
    pub(crate) fn advance(&mut self, by: i64) {
        if matches!(self.source, Source::Told) {
            self.now = self.now.saturating_add(by.max(0)).min(LONGEST_US);
        }
    }

    /// Steps the wall clock alone, as NTP or an operator does.
    pub(crate) fn step_wall(&mut self, by: i64) {
        self.wall_is(self.wall(self.now).saturating_add(by));
    }

    /// Scenario time of an instant of the machine's boot clock, where they go together.
    pub(crate) fn at_boot_us(&self, boot_us: i64) -> Option<i64> {
        match &self.source {
            Source::Live { origin_boot_us, scale } => Some(((boot_us - origin_boot_us) as f64 * scale) as i64),
            Source::Told | Source::File(_) => None,
        }
    }

    fn wall_is(&mut self, wall: i64) {
        let offset = wall.saturating_sub(self.now);
        let held = self.offsets.last().map_or(0, |(_, offset)| *offset);
        let told = !matches!(self.source, Source::Live { .. });
        if offset.saturating_sub(held).saturating_abs() > STEP_US || (told && offset != held) {
            self.offsets.push((self.now, offset));
        }
    }
}

/// A time file: wall clock and scenario time, in microseconds.
fn parse(text: &str) -> Option<(i64, i64)> {
    let mut numbers = text.split_whitespace().map(str::parse::<i64>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn kernel_us(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is room for one timespec.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    if failed { 0 } else { time.tv_sec * 1_000_000 + time.tv_nsec / 1_000 }
}
