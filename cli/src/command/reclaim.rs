//! `reclaim`: policies, plans, rounds, cases and answers, and what it all was worth.

use chrono_tz::Tz;
use gpuledger_aggregator::report::Format;

use crate::args::Reclaim;
use crate::outcome::Outcome;
use crate::place::Place;

mod answers;
mod backtest;
mod cases;
mod policy;
mod rounds;
mod worth;

pub(super) async fn run(place: &Place, what: Reclaim, format: Format) -> anyhow::Result<Outcome> {
    match what {
        Reclaim::Policy(p) => policy::run(place, p, format),
        Reclaim::Plan(p) => rounds::plan(place, &p, format).await,
        Reclaim::Check { file } => rounds::check(place, &file),
        Reclaim::Apply { file } => rounds::apply(place, file.as_deref()).await,
        Reclaim::Watch { every, rounds } => rounds::watch(place, every, rounds).await,
        Reclaim::Cases { case, all, zone } => cases::run(place, case.as_deref(), all, zone.as_deref(), format),
        Reclaim::Answer(a) => answers::owner(place, &a),
        Reclaim::Approve(of) => answers::operator(place, &of, answers::Said::Approve),
        Reclaim::Hold(of) => answers::operator(place, &of, answers::Said::Hold),
        Reclaim::Lift(of) => answers::operator(place, &of, answers::Said::Lift),
        Reclaim::Exempt(e) => answers::exempt(place, &e),
        Reclaim::Stop { reason } => answers::stop(place, &reason),
        Reclaim::Resume { reason } => answers::resume(place, &reason),
        Reclaim::Switch { name, to, reason } => answers::switch(place, &name, &to, &reason),
        Reclaim::Sweep { mail, zone } => worth::sweep(place, mail, zone.as_deref(), format).await,
        Reclaim::Free { gpus, pool, approve } => worth::free(place, gpus, &pool, approve, format).await,
        Reclaim::Backtest(b) => backtest::run(place, &b, format).await,
        Reclaim::Proof { case } => cases::proof(place, &case),
        Reclaim::Value { month, zone } => worth::value(place, &month, zone.as_deref(), format).await,
    }
}

/// The zone that instants are shown in.
fn zone(place: &Place, typed: Option<&str>) -> anyhow::Result<Tz> {
    Ok(place.zone(typed)?.unwrap_or(Tz::UTC))
}
