//! Reading the driver's own accounts: those of processes that are there, and of those that died since last time.

use std::collections::BTreeSet;

use gpuledger_native::accounting::Account;
use gpuledger_native::{Device, Error};

use super::look::{Place, absent};
use crate::node::config::Accounting;
use crate::node::seen::{Absent, Measure};

/// Where the reading of a card's accounts stands.
#[derive(Debug)]
pub(super) struct Accounts {
    mode: Accounting,
    /// Pids that polls have listed since the last reading.
    listed: BTreeSet<u32>,
    /// Pids whose account was read after their end; `None` before the first reading.
    dead: Option<BTreeSet<u32>>,
}

impl Accounts {
    /// Nothing read yet.
    pub(super) const fn new(mode: Accounting) -> Self {
        Self { mode, listed: BTreeSet::new(), dead: None }
    }

    /// Takes note of who is there.
    pub(super) fn listed(&mut self, places: &[Place]) {
        let pids = places.iter().filter_map(|p| p.processes.as_ref().ok()).flatten().map(|p| p.pid);
        self.listed.extend(pids);
    }

    /// Accounts of listed processes, and of those that died since the reading before; what had died before the first
    /// reading belongs to no tick of ours.
    pub(super) fn read(&mut self, device: Device, mig: bool) -> Result<Measure<Vec<Account>>, Error> {
        let listed = std::mem::take(&mut self.listed);
        if self.mode == Accounting::Off || mig {
            return Ok(Err(if mig { Absent::Mig } else { Absent::NotPermitted }));
        }
        match self.read_on(device, &listed) {
            Ok(accounts) => Ok(accounts),
            Err(error) if error.is_gone() || error.needs_restart() => Err(error),
            Err(error) => Ok(Err(absent(&error))),
        }
    }

    fn read_on(&mut self, device: Device, listed: &BTreeSet<u32>) -> Result<Measure<Vec<Account>>, Error> {
        if !device.is_accounting()? {
            self.dead = None;
            if self.mode == Accounting::Enable {
                // its first accounts come with the next processes
                device.set_accounting(true)?;
            }
            return Ok(Err(Absent::NotSupported));
        }
        let first = self.dead.is_none();
        let before = self.dead.take().unwrap_or_default();
        let mut dead = BTreeSet::new();
        let mut accounts = Vec::new();
        for pid in device.accounting_pids()? {
            if before.contains(&pid) && !listed.contains(&pid) {
                dead.insert(pid);
                continue;
            }
            let Some(account) = device.account(pid)? else { continue };
            if !account.running {
                dead.insert(pid);
            }
            if !first || account.running || listed.contains(&pid) {
                accounts.push(account);
            }
        }
        self.dead = Some(dead);
        Ok(Ok(accounts))
    }
}
