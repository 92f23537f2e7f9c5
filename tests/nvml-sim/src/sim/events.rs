//! Event sets: what was registered, and what comes next.

use std::collections::BTreeSet;

use super::Sim;
use crate::scenario::{Event, What, us};

/// An event set.
#[derive(Debug, Default)]
pub(crate) struct EventSet {
    /// GPU, event bits, and since when.
    registered: Vec<(usize, u64, i64)>,
    /// Events of the scenario that it has had.
    had: BTreeSet<usize>,
}

impl EventSet {
    pub(crate) fn register(&mut self, gpu: usize, bits: u64, now: i64) {
        self.registered.push((gpu, bits, now));
    }

    fn wants(&self, event: &Event) -> bool {
        let kind = |bits: u64| bits & event.kind.bit() != 0;
        self.registered.iter().any(|(gpu, bits, since)| *gpu == event.gpu && kind(*bits) && us(event.at_s) >= *since)
    }
}

/// What a wait on a set found.
#[derive(Debug)]
pub(crate) enum Waited {
    /// An event.
    Event(Event),
    /// The wait fails at once.
    Failed(u32),
    /// Nothing yet.
    Nothing,
}

impl Sim {
    /// The next event of a set that has come by now, if it has not had it.
    pub(crate) fn next_event(&mut self, set: usize, now: i64) -> Waited {
        let Some(held) = self.event_sets.get(&set) else {
            return Waited::Failed(super::code::INVALID_ARGUMENT);
        };
        for (gpu, _, _) in &held.registered {
            let fails = self.faults(*gpu, now).find_map(|what| match what {
                What::WaitFails { code } => Some(*code),
                What::Lost => Some(super::code::GPU_IS_LOST),
                _ => None,
            });
            if let Some(code) = fails {
                return Waited::Failed(code);
            }
        }
        let mut come = self.world.events.iter().enumerate().take_while(|(_, event)| us(event.at_s) <= now);
        let next = come.find(|(at, event)| !held.had.contains(at) && held.wants(event));
        let Some((at, event)) = next.map(|(at, event)| (at, event.clone())) else { return Waited::Nothing };
        if let Some(held) = self.event_sets.get_mut(&set) {
            held.had.insert(at);
        }
        Waited::Event(event)
    }
}
