//! What happened on the GPUs: pure functions of the scenario and the time.
//!
//! Times are microseconds of the scenario. Levels are basis points (hundredths of a percent), as the driver holds
//! them. A level is constant between two changes, so that every integral below is exact.

mod duty;
pub(crate) mod meter;
pub(crate) mod mig;
pub(crate) mod ring;
pub(crate) mod task;
#[cfg(test)]
mod tests;

use crate::scenario::{Event, Scenario, us};
use task::Task;

/// A scenario made ready: repeats written out, seconds as microseconds, events in order.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    /// By GPU: who is on it.
    pub(crate) tasks: Vec<Vec<Task>>,
    /// What event sets deliver, in order of time, each once.
    pub(crate) events: Vec<Event>,
}

impl World {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let tasks = (0..scenario.gpus.len()).map(|gpu| task::on_gpu(&scenario.processes, gpu)).collect();
        let mut events: Vec<Event> =
            scenario.events.iter().flat_map(|event| std::iter::repeat_n(event.clone(), event.count as usize)).collect();
        events.sort_by_key(|event| us(event.at_s));
        Self { scenario, tasks, events }
    }
}

/// A number that looks random and depends on nothing but what is passed in (splitmix64 over the words).
fn draw(words: &[u64]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |state, word| {
        let mut z = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}
