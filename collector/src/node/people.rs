//! Processes on cards: who has a pid now, what each did in a tick, and whom it belongs to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use super::attribute::{self, Held, Runs, Site};
use super::integrate::{PidMap, Who};
use super::records::Known;
use super::seen::{Moment, Process};
use super::source::proc::users::NameOf;
use super::source::proc::{Proc, ProcSettings, pids};
use super::tick::{CardTick, Person};

/// Everybody who was seen on a card.
#[derive(Debug)]
pub(super) struct People {
    proc: RefCell<Proc>,
    /// Pids that host processes have in namespaces of their own.
    inner: RefCell<pids::PidMap>,
    sees_host: bool,
    runs: Runs,
    ticks_per_second: u64,
}

impl People {
    /// Nobody was seen yet. `environ`: whether the scheduler leaves its ids in environments.
    pub(super) fn new(proc_root: &Path, environ: bool, names: NameOf) -> Self {
        let settings = ProcSettings::of_this_machine(proc_root, environ);
        Self {
            ticks_per_second: settings.ticks_per_second,
            proc: RefCell::new(Proc::new(settings, names)),
            inner: RefCell::default(),
            // where that cannot be told, a list that names strangers will tell
            sees_host: pids::shares_with_host(proc_root).pids != Some(false),
            runs: Runs::default(),
        }
    }

    /// What is known at the end of the tick that began at `start` of everybody who used a card in it. Ends the tick.
    pub(super) fn of_tick(
        &mut self,
        site: &Site,
        cards: &[CardTick],
        known: &Known,
        start: Moment,
        now: Moment,
    ) -> BTreeMap<Process, Person> {
        let proc = self.proc.get_mut();
        let mut places: BTreeMap<Process, Vec<&str>> = BTreeMap::new();
        for card in cards {
            for key in card.used.processes.keys() {
                if let Who::Known(process) = key.who {
                    places.entry(process).or_default().push(key.instance.as_deref().unwrap_or(&card.uuid));
                }
            }
        }
        let looks: Vec<_> = places.into_iter().map(|(p, on)| (p, on, proc.look(p, start.boot_ms, now))).collect();
        // a batch script may tell which job the run is of that an adopted login only names by its SLUID
        looks.iter().for_each(|(_, _, look)| self.runs.witness(&look.witness));
        let mut out = BTreeMap::new();
        for (process, on, look) in looks {
            let device: Vec<Held> = on.iter().flat_map(|uuid| known.holders(uuid)).cloned().collect();
            let records = attribute::Records { device: &device, process: known.job(process, self.ticks_per_second) };
            let belongs = attribute::belongs(site, &look.witness, &records, &self.runs);
            out.insert(process, Person { facts: Some(look.facts), belongs: Some(belongs), absent: look.absent });
        }
        proc.end_tick();
        self.inner.get_mut().clone_from(&pids::PidMap::default());
        out
    }
}

impl PidMap for People {
    fn process(&self, pid: u32) -> Option<Process> {
        let mut proc = self.proc.borrow_mut();
        let process = proc.meet(pid).ok()?;
        let namespaced = proc.namespaced(process);
        if namespaced.len() > 1 {
            self.inner.borrow_mut().add(pid, namespaced);
        }
        Some(process)
    }

    fn host_pids(&self, pid: u32) -> Vec<u32> {
        self.inner.borrow().candidates(pid).into_iter().collect()
    }

    fn sees_host(&self) -> bool {
        self.sees_host
    }
}
