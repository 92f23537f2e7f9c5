//! `findings`: what people say of findings, and what those marked done have saved.

use gpuledger_aggregator::explain;
use gpuledger_aggregator::report::{self, Ask, Format};
use gpuledger_control::ReferenceTable;
use gpuledger_schema::window::Window;

use super::{print, reference, reports, show};
use crate::args::{Findings, Note, Reference};
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

pub(super) async fn run(place: &Place, what: Findings, format: Format) -> anyhow::Result<Outcome> {
    let (state, note) = match what {
        Findings::List { zone } => {
            return reference::run(place, ReferenceTable::FindingNotes, Reference::List { zone }, format).await;
        }
        Findings::Verify { zone } => return verify(place, zone.as_deref(), format).await,
        Findings::Accept(note) => ("accepted", note),
        Findings::Done(note) => ("done", note),
        Findings::Dismiss(note) => ("dismissed", note),
        Findings::Reopen(note) => ("open", note),
    };
    known(place, &note).await?;
    let now = chrono::DateTime::from_timestamp_millis(clock::now_ms())
        .ok_or_else(|| anyhow::anyhow!("the clock is beyond what can be written"))?;
    let by = note.by.clone().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "unknown".to_owned());
    let from = note.at.clone().unwrap_or_else(|| now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
    let row = [&note.rule, &note.subject, state, note.reason.as_deref().unwrap_or_default(), &by, &from];
    let row = row.map(quoted).join(",");
    let text = format!("rule,subject,state,reason,by,from\n{row}\n");
    let told = reference::import(place, ReferenceTable::FindingNotes, "what was typed", text.as_bytes(), None).await?;
    print(format!("{} {}: {state}\n{told}", note.rule, note.subject).as_bytes())?;
    Ok(Outcome::Done)
}

/// A CSV cell that is read back as typed.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A note about nothing would never be seen again. A service (cluster/account/name) is taken as typed.
async fn known(place: &Place, note: &Note) -> anyhow::Result<()> {
    let slashes = note.subject.matches('/').count();
    if slashes >= 2 {
        return Ok(());
    }
    let reader = place.reader(&place.lake()?).await?;
    if slashes == 0 || explain::find(&reader, &note.subject).await?.is_empty() {
        return Err(usage(format!(
            "there is no run `{}`: name it as `gpuledger report findings` does, cluster/job",
            note.subject
        )));
    }
    Ok(())
}

async fn verify(place: &Place, zone: Option<&str>, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let currency = reports::currency_or_none(place, &lake)?;
    let zone = place.zone_needed(zone)?;
    let ask = Ask { window: Window { from_ms: 0, to_ms: 0 }, zone, by: Vec::new(), step: None, currency };
    show(&report::verified(&place.reader(&lake).await?, &ask).await?, format)?;
    Ok(Outcome::Done)
}
