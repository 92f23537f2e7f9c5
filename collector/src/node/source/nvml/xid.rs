//! Xid errors of a card, by the driver's events.

use gpuledger_native::Device;
use gpuledger_native::event::{DOUBLE_BIT, EventSet, XID};

use super::look::absent;
use super::pause::Pause;
use crate::node::seen::{Absent, Measure, Moment};

/// Most events that are taken at once: a burst must not keep the card's thread.
const BURST: usize = 256;

/// The events of a card, registered once.
#[derive(Debug, Default)]
pub(super) struct Xids {
    set: Option<EventSet>,
    /// Why there is no set, and when to try again: a set that fails at once would be asked for ever.
    failed: Option<(Absent, Pause)>,
}

impl Xids {
    /// The last Xid since the reading before, if there was one.
    pub(super) fn read(&mut self, device: Device, now: Moment) -> Measure<Option<i64>> {
        if self.set.is_none() {
            if let Some((why, _)) = self.failed.as_ref().filter(|(_, pause)| !pause.is_due(now.boot_ms)) {
                return Err(why.clone());
            }
            match EventSet::of(device, XID | DOUBLE_BIT) {
                Ok(set) => self.set = Some(set),
                Err(error) => return Err(self.fail(absent(&error), now)),
            }
        }
        self.last(now)
    }

    /// The last Xid that waits in the set there is.
    pub(super) fn last(&mut self, now: Moment) -> Measure<Option<i64>> {
        let Some(set) = &mut self.set else { return Err(Absent::NoEarlier) };
        let mut last = None;
        for _ in 0..BURST {
            match set.next(0) {
                Ok(Some(event)) if event.kind == XID => last = i64::try_from(event.data).ok().or(last),
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.failed = None;
                    return Ok(last);
                }
                Err(error) => {
                    self.forget();
                    let why = self.fail(absent(&error), now);
                    return if last.is_some() { Ok(last) } else { Err(why) };
                }
            }
        }
        Ok(last)
    }

    /// Gives the set up without telling the driver.
    pub(super) fn forget(&mut self) {
        if let Some(set) = self.set.take() {
            set.forget();
        }
    }

    fn fail(&mut self, why: Absent, now: Moment) -> Absent {
        let pause = match self.failed.take() {
            Some((_, pause)) => pause.longer(now.boot_ms),
            None => Pause::first(now.boot_ms),
        };
        self.failed = Some((why.clone(), pause));
        why
    }
}
