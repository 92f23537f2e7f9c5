//! `statement`, `uncharged`, `explain line`: the lines of a period, what is in none, and where a line comes from.

use gpuledger_aggregator::bill::Period;
use gpuledger_aggregator::close::{self, Answer, Phase};
use gpuledger_aggregator::explain::Told;
use gpuledger_aggregator::report::Format;

use super::{Kept, issuer, period};
use crate::args::{LineAnswer, Statement, StatementAnswer, Uncharged};
use crate::clock;
use crate::command::{print, show};
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(in crate::command) async fn statement(place: &Place, asked: &Statement, format: Format) -> anyhow::Result<Outcome> {
    match &asked.answer {
        Some(StatementAnswer::Accept(a)) => return answer(place, a, false).await,
        Some(StatementAnswer::Dispute(a)) => return answer(place, a, true).await,
        None => {}
    }
    let month = asked.period.as_deref().unwrap_or_default();
    let lake = place.lake()?;
    let of = period(place, &lake, month, asked.zone.as_deref())?;
    let reader = place.reader(&lake).await?;
    let billed = close::bill(&lake, &reader, &of, &issuer(place)).await?;
    let answers = Kept::to_read(place, &lake)?.answers(&of.name)?;
    show(&close::statement(&billed.bill, &of.currency, asked.team.as_deref(), &answers), format)?;
    Ok(Outcome::Done)
}

async fn answer(place: &Place, asked: &LineAnswer, disputed: bool) -> anyhow::Result<Outcome> {
    let reason = asked.reason.clone().unwrap_or_default();
    if disputed && reason.trim().is_empty() {
        return Err(usage("a dispute needs a --reason"));
    }
    let lake = place.lake()?;
    let _lock = place.writer(&lake).await?;
    let of = period(place, &lake, &asked.period, asked.zone.as_deref())?;
    let closed = close::Manifest::find(&lake, &of.name).await?.is_some();
    match close::phase(of.window, closed, clock::now_ms()) {
        Phase::Collecting => {}
        Phase::Closed => {
            return Err(usage(format!("{} is closed: ask for a correction or a credit in the next period", of.name)));
        }
        Phase::Open => return Err(usage(format!("{} is not over: its lines still change", of.name))),
    }
    let reader = super::newest(place, &lake).await?;
    let billed = close::bill(&lake, &reader, &of, &issuer(place)).await?;
    close::line_of(&billed.bill, &asked.line.to_string())?;
    let at_ms = clock::now_ms();
    let said = Answer { line_id: asked.line, disputed, reason, by: asked.by.clone(), at_ms };
    let mut kept = Kept::to_write(place, &lake)?;
    kept.answer(&of.name, &said)?;
    kept.keep_head(&lake).await?;
    let word = if disputed { "disputed" } else { "accepted" };
    print(format!("{} line {}: {word} by {}\n", of.name, asked.line, asked.by).as_bytes())?;
    Ok(Outcome::Done)
}

pub(in crate::command) async fn uncharged(place: &Place, asked: &Uncharged, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let of = period(place, &lake, &asked.month, asked.zone.as_deref())?;
    let reader = place.reader(&lake).await?;
    show(&close::uncharged(&lake, &reader, &of).await?, format)?;
    Ok(Outcome::Done)
}

/// `explain line PERIOD LINE`, where the line may be a team: then all of its lines.
pub(in crate::command) async fn explain(
    place: &Place,
    words: &[String],
    zone: Option<&str>,
    format: Format,
) -> anyhow::Result<Outcome> {
    let [month, word] = words else { return Err(usage("write `gpuledger explain line PERIOD LINE` (or a team)")) };
    let lake = place.lake()?;
    let of: Period = period(place, &lake, month, zone)?;
    let reader = place.reader(&lake).await?;
    let billed = close::bill(&lake, &reader, &of, &issuer(place)).await?;
    let lines = close::line_of(&billed.bill, word)?;
    let told = close::explain_lines(&lake, &reader, &of, &billed, &lines).await?;
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(told)).as_bytes())?,
        _ => print(told.iter().map(Told::text).collect::<Vec<_>>().join("\n").as_bytes())?,
    }
    Ok(Outcome::Done)
}
