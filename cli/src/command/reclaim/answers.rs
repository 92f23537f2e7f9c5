//! What people say: owners, operators, and whoever throws the kill switch.

use gpuledger_control::{Control, Switch};
use gpuledger_reclaim::answer::{Answer, Who};

use super::super::quote::{duration_ms, instant};
use super::super::{print, reference::actor};
use super::rounds::store;
use crate::args::{Exempt, OfCase, OwnerAnswer};
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::reclaim::{say, throw};

/// What an operator says.
pub(super) enum Said {
    Approve,
    Hold,
    Lift,
}

fn take(place: &Place, of: &OfCase, who: fn(String) -> Who, said: &Answer) -> anyhow::Result<Outcome> {
    let who = who(of.by.clone().unwrap_or_else(actor));
    let done = say(place, &place.lake_to_write()?, &of.case, &who, said, clock::now_ms())?;
    print(format!("{done}\n").as_bytes())?;
    Ok(Outcome::Done)
}

fn reason(of: &OfCase) -> String {
    of.reason.clone().unwrap_or_default()
}

pub(super) fn owner(place: &Place, asked: &OwnerAnswer) -> anyhow::Result<Outcome> {
    let of = &asked.of;
    let said = match (asked.answer.as_str(), &asked.duration) {
        ("keep", Some(duration)) => Answer::Keep { reason: reason(of), for_ms: duration_ms(duration)? },
        ("keep", None) => return Err(usage("say for how long it is kept: --for 12h")),
        (_, Some(_)) => return Err(usage("only `keep` has a --for")),
        ("normal", None) => Answer::Normal { reason: reason(of) },
        ("release", None) => Answer::Release,
        (other, None) => return Err(usage(format!("`{other}` is no answer: keep, normal or release"))),
    };
    take(place, of, Who::Owner, &said)
}

pub(super) fn operator(place: &Place, of: &OfCase, said: Said) -> anyhow::Result<Outcome> {
    let said = match said {
        Said::Approve => Answer::Approve,
        Said::Hold => Answer::Hold { reason: reason(of) },
        Said::Lift => Answer::Resume,
    };
    take(place, of, Who::Operator, &said)
}

pub(super) fn exempt(place: &Place, asked: &Exempt) -> anyhow::Result<Outcome> {
    let until_ms = instant("--until", &asked.until, super::zone(place, asked.zone.as_deref())?)?;
    if until_ms <= clock::now_ms() {
        return Err(usage("--until lies in the past"));
    }
    take(place, &asked.of, Who::Operator, &Answer::Exempt { reason: reason(&asked.of), until_ms })
}

fn set(control: &mut Control, which: Switch, is_on: bool, reason: &str) -> anyhow::Result<()> {
    throw(control, which, is_on, actor(), reason, clock::now_ms())
}

pub(super) fn stop(place: &Place, reason: &str) -> anyhow::Result<Outcome> {
    set(&mut store(place)?.control, Switch::Kill, true, reason)?;
    print(b"stopped: nothing is told and nothing is asked of any scheduler until `gpuledger reclaim resume`\n")?;
    Ok(Outcome::Done)
}

pub(super) fn resume(place: &Place, reason: &str) -> anyhow::Result<Outcome> {
    let mut store = store(place)?;
    for which in [Switch::Kill, Switch::Breaker] {
        if store.control.switched(which)?.is_some_and(|s| s.is_on) {
            set(&mut store.control, which, false, reason)?;
        }
    }
    let path = &store.kill_file.0;
    if path.try_exists().unwrap_or(true) {
        print(
            format!("the kill switch is released, but the file {} still stops everything: remove it\n", path.display())
                .as_bytes(),
        )?;
        return Ok(Outcome::Failed);
    }
    print(b"the kill switch and the breaker are released\n")?;
    Ok(Outcome::Done)
}

pub(super) fn switch(place: &Place, name: &str, to: &str, reason: &str) -> anyhow::Result<Outcome> {
    let which = match name {
        "notify" => Switch::Notify,
        "act" => Switch::Act,
        other => return Err(usage(format!("`{other}` is no switch: notify or act"))),
    };
    let is_on = match to {
        "on" => true,
        "off" => false,
        other => return Err(usage(format!("`{other}`: on or off"))),
    };
    set(&mut store(place)?.control, which, is_on, reason)?;
    print(format!("{name} is {to}\n").as_bytes())?;
    Ok(Outcome::Done)
}
