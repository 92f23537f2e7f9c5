//! The reader of one card: it lives in the card's thread and holds everything that belongs to the driver.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gpuledger_native::process::List;
use gpuledger_native::{Code, Device, Error, Library};

use super::accounts::Accounts;
use super::activity::{self, Kept};
use super::counter::Counter;
use super::instance::Instances;
use super::last_seen::LastSeen;
use super::limit;
use super::look::{
    Activity, CardFacts, CardMinute, CardPoll, InstanceMinute, MemoryNow, Place, Present, Rejects, absent,
};
use super::rates::Rates;
use super::xid::Xids;
use crate::node::config::Accounting;
use crate::node::seen::{Absent, Clock, Measure, Moment};

/// Fell off the bus: the card is lost even where calls still answer from a cache.
const XID_LOST: i64 = 79;

/// What a card's thread is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    /// Who uses the card.
    Poll,
    /// What it is and how it is.
    Minute,
    /// To find the card again.
    Reopen,
}

/// What it answers.
#[derive(Debug)]
pub(super) enum Answer {
    /// To a poll.
    Poll(Result<Box<CardPoll>, Trouble>),
    /// To a look at the end of a tick.
    Minute(Result<Box<CardMinute>, Trouble>),
    /// Whether the card was found again.
    Reopened(Result<(), Error>),
}

/// Why a card as a whole could not be read.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    /// Why.
    pub(super) why: Absent,
    /// The number that says that the library must start again.
    pub(super) restart: Option<Code>,
    /// The last Xid that came with it.
    pub(super) xid: Option<i64>,
}

impl From<&Error> for Trouble {
    fn from(error: &Error) -> Self {
        Self { why: absent(error), restart: error.code().filter(|_| error.needs_restart()), xid: None }
    }
}

/// A card, as its thread knows it.
pub(super) struct Reader {
    library: Library,
    uuid: String,
    clock: Arc<dyn Clock>,
    device: Option<Device>,
    facts: Option<CardFacts>,
    /// Whether an MPS server has clients here, as of the last minute.
    mps: bool,
    /// Whether the driver gives activity, as of the last minute: then utilization need not be polled.
    has_activity: bool,
    last_seen: LastSeen,
    polled: Option<Moment>,
    looked: Option<Moment>,
    rates: Rates,
    instances: Instances,
    kept: BTreeMap<Option<u32>, Kept>,
    energy: Counter,
    ecc: Counter,
    accounts: Accounts,
    xids: Xids,
}

impl Reader {
    /// A reader of the card with this UUID.
    pub(super) fn new(library: Library, uuid: &str, accounting: Accounting, clock: Arc<dyn Clock>) -> Self {
        Self {
            library,
            uuid: uuid.to_owned(),
            clock,
            device: None,
            facts: None,
            mps: false,
            has_activity: false,
            last_seen: LastSeen::default(),
            polled: None,
            looked: None,
            rates: Rates::default(),
            instances: Instances::default(),
            kept: BTreeMap::new(),
            energy: Counter::default(),
            ecc: Counter::default(),
            accounts: Accounts::new(accounting),
            xids: Xids::default(),
        }
    }

    /// Does what is asked.
    pub(super) fn answer(&mut self, order: Order) -> Answer {
        match order {
            Order::Poll => {
                let poll = self.poll();
                Answer::Poll(poll.map(Box::new).map_err(|trouble| self.with_xid(trouble)))
            }
            Order::Minute => {
                let minute = self.minute();
                Answer::Minute(minute.map(Box::new).map_err(|trouble| self.with_xid(trouble)))
            }
            Order::Reopen => Answer::Reopened(self.reopen()),
        }
    }

    /// What the driver said of the card's end, where it said something; its handles are dead after that.
    fn with_xid(&mut self, trouble: Trouble) -> Trouble {
        let said = trouble.xid.or_else(|| self.xids.last(self.clock.now()).ok().flatten());
        self.forget();
        Trouble { xid: said, ..trouble }
    }

    /// Gives up all handles without telling the driver.
    fn forget(&mut self) {
        for (_, kept) in std::mem::take(&mut self.kept) {
            kept.forget();
        }
        self.xids.forget();
        self.energy.forget();
        self.ecc.forget();
        self.device = None;
        self.polled = None;
        self.looked = None;
    }

    fn reopen(&mut self) -> Result<(), Error> {
        self.forget();
        let device = self.library.device_by_uuid(&self.uuid)?;
        device.memory().map(|_| ()).or_else(|error| if error.is_unsupported() { Ok(()) } else { Err(error) })
    }

    /// The card's handle, with its facts read.
    fn device(&mut self) -> Result<Device, Trouble> {
        if let Some(device) = self.device {
            return Ok(device);
        }
        let device = self.library.device_by_uuid(&self.uuid).map_err(|error| Trouble::from(&error))?;
        self.facts = Some(self.read_facts(device)?);
        self.device = Some(device);
        Ok(device)
    }

    fn read_facts(&self, device: Device) -> Result<CardFacts, Trouble> {
        let mig = guard(device.is_mig())?.unwrap_or(false);
        Ok(CardFacts {
            uuid: self.uuid.clone(),
            model: guard(device.name())?.ok(),
            memory_bytes: guard(device.memory())?.ok().map(|m| bytes(m.total_bytes)),
            compute_capability: guard(device.compute_capability())?
                .ok()
                .map(|(major, minor)| format!("{major}.{minor}")),
            driver: self.library.driver_version().ok(),
            minor: guard(device.minor())?.ok().map(i64::from),
            pci: guard(device.pci_bus_id())?.ok(),
            mig,
            card_slices: if mig { guard(device.mig_slots())?.ok().map(i64::from) } else { None },
        })
    }

    fn is_mig(&self) -> bool {
        self.facts.as_ref().is_some_and(|f| f.mig)
    }

    /// Who uses the card now.
    fn poll(&mut self) -> Result<CardPoll, Trouble> {
        let device = self.device()?;
        let now = self.clock.now();
        let from_boot_ms = self.polled.map_or(now.boot_ms, |p| p.boot_ms);
        let mut poll = CardPoll {
            at: now,
            from_boot_ms,
            average_ms: 0,
            uses: Err(Absent::Mig),
            rejects: Rejects::default(),
            places: Vec::new(),
            rates: Err(Absent::Mig),
        };
        if self.is_mig() {
            // the driver gives neither utilization of processes nor of the card
            for instance in guard_trouble(self.instances.refresh(device))?.to_vec() {
                let processes = self.list(instance.device)?;
                poll.places.push(Place { instance: Some(instance.facts.uuid.clone()), processes });
            }
        } else {
            let asked_us = self.last_seen.ask(now);
            poll.uses = match guard(device.process_utilization(asked_us))? {
                Ok(rows) => {
                    let sifted = self.last_seen.sift(&rows, now);
                    (poll.rejects, poll.average_ms) = (sifted.rejects, sifted.average_ms);
                    poll.from_boot_ms = sifted.from_boot_ms(from_boot_ms, now);
                    Ok(sifted.uses)
                }
                Err(why) => Err(why),
            };
            poll.places.push(Place { instance: None, processes: self.list(device)? });
            poll.rates = Ok(guard_trouble(self.rates.read(device, now, !self.has_activity))?);
        }
        self.accounts.listed(&poll.places);
        // what a refused poll did not tell, the next one still can: its window begins where the last answer ended
        if poll.uses.is_ok() {
            self.polled = Some(now);
        }
        Ok(poll)
    }

    /// Processes of a card or instance, each once: one with both kinds of context stands in two lists with the same
    /// memory.
    fn list(&self, device: Device) -> Result<Measure<Vec<Present>>, Trouble> {
        let compute = guard(device.processes(List::Compute))?;
        let graphics = guard(device.processes(List::Graphics))?;
        let mps = if self.mps { guard(device.processes(List::Mps))? } else { Ok(Vec::new()) };
        if let (Err(why), Err(_)) = (&compute, &graphics) {
            return Ok(Err(why.clone()));
        }
        let limit = self.facts.as_ref().and_then(|f| f.memory_bytes).unwrap_or(i64::MAX);
        let mut processes: BTreeMap<u32, Measure<i64>> = BTreeMap::new();
        for row in [compute, graphics, mps].into_iter().flatten().flatten().filter(|r| r.pid != 0) {
            let memory = match row.memory_bytes {
                None => Err(Absent::NotSupported),
                Some(value) => i64::try_from(value).ok().filter(|v| *v <= limit).ok_or(Absent::Rejected),
            };
            let known = processes.entry(row.pid).or_insert_with(|| memory.clone());
            if known.is_err() || memory.as_ref().is_ok_and(|new| known.as_ref().is_ok_and(|old| new > old)) {
                *known = memory;
            }
        }
        Ok(Ok(processes.into_iter().map(|(pid, memory_bytes)| Present { pid, memory_bytes }).collect()))
    }

    /// What the card is and how it is.
    fn minute(&mut self) -> Result<CardMinute, Trouble> {
        let device = self.device()?;
        let now = self.clock.now();
        let xid = self.xids.read(device, now);
        if xid == Ok(Some(XID_LOST)) {
            return Err(Trouble { why: Absent::Lost, restart: None, xid: Some(XID_LOST) });
        }
        let facts = self.read_mode(device)?;
        let memory = guard(device.memory())?.map(memory_now);
        let energy_mj = self.energy.added(guard(device.energy_total_mj())?, now);
        let power_mw = self.power(device, &energy_mj, now)?;
        let activity = if facts.mig { Err(Absent::Mig) } else { self.activity(device, None, now, "")? };
        self.has_activity = activity.as_ref().is_ok_and(|a| a.gpu_ppm.is_ok()) || activity == Err(Absent::NoEarlier);
        self.mps = !facts.mig && guard(device.processes(List::Mps))?.is_ok_and(|clients| !clients.is_empty());
        let minute = CardMinute {
            at: now,
            memory,
            power_mw,
            power_limit_mw: guard(device.power_limit_mw())?.map(i64::from),
            energy_mj,
            temperature_c: guard(device.temperature_c())?.map(i64::from),
            limit_reasons: guard(device.limit_reasons())?.map(limit::words),
            ecc_uncorrected: self.ecc.added(guard(device.ecc_uncorrected())?, now),
            xid,
            remapped: guard(device.remapped_rows())?,
            activity,
            accounts: guard_trouble(self.accounts.read(device, facts.mig))?,
            instances: if facts.mig { self.instance_minutes(device, now)? } else { Vec::new() },
            facts,
        };
        self.looked = Some(now);
        Ok(minute)
    }

    /// The card's facts, with what can change under a running driver read again.
    fn read_mode(&mut self, device: Device) -> Result<CardFacts, Trouble> {
        let before = self.facts.take();
        let facts = match before {
            Some(facts) if guard(device.is_mig())? == Ok(facts.mig) => facts,
            _ => self.read_facts(device)?,
        };
        self.facts = Some(facts.clone());
        Ok(facts)
    }

    /// Mean power from the energy used, which nothing is lost of; else what the driver reads now.
    fn power(&self, device: Device, energy_mj: &Measure<i64>, now: Moment) -> Result<Measure<i64>, Trouble> {
        let since_ms = self.looked.map_or(0, |before| now.boot_ms - before.boot_ms);
        match energy_mj {
            Ok(energy_mj) if since_ms > 0 => Ok(Ok(energy_mj.saturating_mul(1_000) / since_ms)),
            _ => Ok(guard(device.power_mw())?.map(i64::from)),
        }
    }

    /// Activity since the minute before of the card or one of its GPU instances.
    fn activity(
        &mut self,
        device: Device,
        gpu_instance: Option<u32>,
        now: Moment,
        cut: &str,
    ) -> Result<Measure<Activity>, Trouble> {
        if guard(device.has_gpm())? != Ok(true) {
            return Ok(Err(Absent::NotSupported));
        }
        let mut kept = self.kept.remove(&gpu_instance);
        let activity = guard(activity::since(&mut kept, device, gpu_instance, now, cut))?;
        if let Some(kept) = kept {
            self.kept.insert(gpu_instance, kept);
        }
        Ok(activity.and_then(|a| a))
    }

    fn instance_minutes(&mut self, device: Device, now: Moment) -> Result<Vec<InstanceMinute>, Trouble> {
        let instances = guard_trouble(self.instances.refresh(device))?.to_vec();
        let cut = self.instances.fingerprint();
        let alive: BTreeSet<Option<u32>> = instances.iter().map(|i| Some(i.facts.gpu_instance)).collect();
        self.kept.retain(|gi, _| alive.contains(gi));
        let mut out = Vec::new();
        for instance in instances {
            let memory = guard(instance.device.memory())?.map(memory_now);
            let activity = if instance.facts.whole_gpu_instance {
                self.activity(device, Some(instance.facts.gpu_instance), now, &cut)?
            } else {
                Err(Absent::Failed("several compute instances in one GPU instance".to_owned()))
            };
            out.push(InstanceMinute { facts: instance.facts, memory, activity });
        }
        Ok(out)
    }
}

/// A value, or why there is none; a card or library that is gone ends the whole look.
pub(super) fn guard<T>(answer: Result<T, Error>) -> Result<Measure<T>, Trouble> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.is_gone() || error.needs_restart() => Err(Trouble::from(&error)),
        Err(error) => Ok(Err(absent(&error))),
    }
}

/// For what is a measure already, or ends the look.
fn guard_trouble<T>(answer: Result<T, Error>) -> Result<T, Trouble> {
    answer.map_err(|error| Trouble::from(&error))
}

fn memory_now(memory: gpuledger_native::device::Memory) -> MemoryNow {
    MemoryNow {
        used_bytes: bytes(memory.used_bytes),
        reserved_bytes: memory.reserved_bytes.map(bytes).ok_or(Absent::NotSupported),
        total_bytes: bytes(memory.total_bytes),
    }
}

fn bytes(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
