//! The simulated driver: everything that one loaded library knows, behind one lock.

mod admit;
mod events;
mod gpu;
mod live;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use admit::{Device, Held, Target, Verdict};
pub(crate) use events::{EventSet, Waited};
pub(crate) use gpu::GpuState;
pub(crate) use record::Record;

use crate::clock::Clock;
use crate::scenario::{Scenario, What, us};
use crate::world::World;

/// NVML's return codes that the simulation gives by itself.
pub(crate) mod code {
    pub(crate) const UNINITIALIZED: u32 = 1;
    pub(crate) const INVALID_ARGUMENT: u32 = 2;
    pub(crate) const NOT_SUPPORTED: u32 = 3;
    pub(crate) const NO_PERMISSION: u32 = 4;
    pub(crate) const NOT_FOUND: u32 = 6;
    pub(crate) const INSUFFICIENT_SIZE: u32 = 7;
    pub(crate) const DRIVER_NOT_LOADED: u32 = 9;
    pub(crate) const TIMEOUT: u32 = 10;
    pub(crate) const FUNCTION_NOT_FOUND: u32 = 13;
    pub(crate) const GPU_IS_LOST: u32 = 15;
    pub(crate) const VERSION_MISMATCH: u32 = 25;
    pub(crate) const UNKNOWN: u32 = 999;
}

/// What a call answers: nothing more than success, or a return code.
pub(crate) type Answer = Result<(), u32>;

/// The driver and the library's state in this program.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) world: World,
    pub(crate) clock: Clock,
    pub(crate) gpus: Vec<GpuState>,
    pub(crate) event_sets: BTreeMap<usize, EventSet>,
    pub(crate) gpm_samples: BTreeMap<usize, Option<gpu::GpmSample>>,
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// Inits not yet shut down.
    pub(crate) inits: u32,
    /// The file it came from and its text then.
    source: (PathBuf, String),
    /// Whether it was loaded by `nvml_sim_load`: then init does not ask the environment.
    told: bool,
    /// How often the driver had been loaded when the library was last initialised: handles of earlier ones are dead.
    loaded: usize,
    /// By fault: how many calls it met.
    met: Vec<u32>,
    /// Until when a call that hangs holds up every other.
    everyone_until: i64,
    /// Hangs that began before this many releases are over.
    releases: u32,
    next_id: usize,
    /// When the files of real processes were last looked at.
    looked: i64,
}

static SIM: Mutex<Option<Sim>> = Mutex::new(None);

/// The one simulation of this copy of the library. A call that panicked left nothing half done.
pub(crate) fn lock() -> MutexGuard<'static, Option<Sim>> {
    SIM.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    /// A simulation at the start of a scenario.
    pub(crate) fn new(path: PathBuf, text: String, scenario: Scenario) -> Self {
        let file = std::env::var_os("NVML_SIM_CLOCK").map(PathBuf::from);
        let clock = Clock::new(&scenario.clock, file);
        let world = World::new(scenario);
        let gpus = world.scenario.gpus.iter().zip(&world.tasks);
        Self {
            gpus: gpus.map(|(gpu, tasks)| GpuState::new(gpu, tasks.len())).collect(),
            met: vec![0; world.scenario.faults.len()],
            clock,
            world,
            event_sets: BTreeMap::new(),
            gpm_samples: BTreeMap::new(),
            calls: BTreeMap::new(),
            inits: 0,
            source: (path, text),
            told: false,
            loaded: 0,
            everyone_until: i64::MIN,
            releases: 0,
            next_id: 1,
            looked: i64::MIN,
        }
    }

    /// Whether it came from this text of this file: then it goes on over a shutdown, as the driver does.
    pub(crate) fn is_from(&self, path: &std::path::Path, text: &str) -> bool {
        self.source.0 == path && self.source.1 == text
    }

    /// Marks it as loaded by `nvml_sim_load`.
    pub(crate) fn told(&mut self) {
        self.told = true;
    }

    pub(crate) fn was_told(&self) -> bool {
        self.told
    }

    /// Reads the clock and brings real processes up to date.
    pub(crate) fn look(&mut self) -> i64 {
        let now = self.clock.look();
        self.find_processes(now);
        now
    }

    /// Wall clock at a scenario time: the kernel's, with the steps the scenario has.
    pub(crate) fn wall(&self, at: i64) -> i64 {
        let steps = self.world.scenario.faults.iter().filter(|fault| us(fault.from_s) <= at);
        let stepped = steps.map(|fault| match fault.what {
            What::ClockStep { by_s } => us(by_s),
            _ => 0,
        });
        stepped.fold(self.clock.wall(at), i64::saturating_add)
    }

    /// Initialises the library once more.
    pub(crate) fn init(&mut self) -> Answer {
        let now = self.look();
        if self.is_unloaded(now) {
            return Err(code::DRIVER_NOT_LOADED);
        }
        if self.inits == 0 || self.loaded != self.loads(now) {
            self.loaded = self.loads(now);
            self.inits = 0;
            self.event_sets.clear();
            self.gpm_samples.clear();
        }
        self.inits += 1;
        Ok(())
    }

    /// How often the driver was loaded again up to `at`.
    pub(crate) fn loads(&self, at: i64) -> usize {
        self.reloads().filter(|(from, _)| *from <= at).count()
    }

    fn is_unloaded(&self, at: i64) -> bool {
        self.reloads().any(|(from, to)| from <= at && at < to)
    }

    fn reloads(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let reloads = self.world.scenario.faults.iter().filter(|fault| fault.what == What::Reload);
        reloads.map(|fault| (us(fault.from_s), fault.to_s.map_or(us(fault.from_s), us)))
    }

    /// A number for a new sample or event set; never given twice, so that a freed one is known as such.
    pub(crate) fn new_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    /// Ends every hang, of calls that wait now.
    pub(crate) fn release(&mut self) {
        self.releases += 1;
        self.everyone_until = i64::MIN;
    }
}
