//! What people say of cases, and the switches they throw, from a command or from a page.

use gpuledger_aggregator::lake::Lake;
use gpuledger_control::{Control, Switch, Switched};
use gpuledger_reclaim::answer::{Answer, Who, answer};
use gpuledger_reclaim::store::{ControlStore, KillPath};

use super::{book_in_force, case_of, kill_file};
use crate::outcome::usage;
use crate::place::Place;

/// The store of this place, for whoever asks it without a look at the world.
pub(crate) fn store(place: &Place, lake: &Lake) -> anyhow::Result<ControlStore<KillPath>> {
    store_of(place, lake, place.control_to_write(lake)?)
}

/// The same over a control file that is open, also where it is only read.
pub(crate) fn store_of(place: &Place, lake: &Lake, control: Control) -> anyhow::Result<ControlStore<KillPath>> {
    Ok(ControlStore { control, holder: String::new(), kill_file: KillPath(kill_file(place, lake)?) })
}

/// Takes an answer to a case, and says what the case is then.
///
/// # Errors
/// There is no such case, or the answer is not theirs to give, out of bounds, or too late.
pub(crate) fn say(
    place: &Place,
    lake: &Lake,
    typed: &str,
    who: &Who,
    said: &Answer,
    now_ms: i64,
) -> anyhow::Result<String> {
    let mut store = store(place, lake)?;
    let (book, _) = book_in_force(Some(&store.control))?;
    let case = case_of(&store.control, typed)?;
    let next = answer(&mut store, &book, &case, who, said, now_ms).map_err(|e| usage(e.to_string()))?;
    let until = next.until_ms.map_or_else(String::new, |u| format!(" until {}", gpuledger_reclaim::utc(u)));
    let held = if next.held.is_some() { ", held" } else { "" };
    Ok(format!("case {} is {}{held}{until}", next.case_id, next.state))
}

/// Throws a switch, for a reason.
///
/// # Errors
/// There is no reason, or the control file.
pub(crate) fn throw(
    control: &mut Control,
    which: Switch,
    is_on: bool,
    actor: String,
    reason: &str,
    now_ms: i64,
) -> anyhow::Result<()> {
    let reason = reason.trim().to_owned();
    if reason.is_empty() {
        return Err(usage("it needs a reason"));
    }
    Ok(control.switch(which, &Switched { is_on, at_ms: now_ms, actor, reason })?)
}
