//! What a server does by itself: takes in and builds, checks, and is ready for the first question.

use std::sync::Arc;

use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::{Reader, ReportError};
use gpuledger_aggregator::{check, ledger};
use gpuledger_api::event::Audience;
use gpuledger_api::page;
use gpuledger_api::state::App;
use gpuledger_schema::path;
use serde_json::json;
use tokio::sync::Mutex;

use crate::place::{self, Place};

/// Takes in what waits in the inbox and brings the ledger up to date; gives what was done.
pub(crate) async fn ingest(app: App, place: Place, writing: Arc<Mutex<()>>) -> Result<String, String> {
    let said = take_in(&app, &place, &writing).await.map_err(|e| crate::chain(&e))?;
    if let Err(problem) = page::warm(&app).await {
        tracing::warn!(detail = problem.detail, "the first page is not ready");
    }
    Ok(said)
}

async fn take_in(app: &App, place: &Place, writing: &Mutex<()>) -> anyhow::Result<String> {
    let lake = Lake::open(&place.data, false)?;
    let waiting = lake.list_nested(path::INBOX).await?;
    let segments = waiting.iter().filter(|o| o.name.ends_with(".parquet")).count();
    let has_cut = !lake.list(path::CUTS).await?.is_empty();
    if segments == 0 && (!has_cut || ledger::current(&lake).await?.is_some()) {
        return Ok("nothing waits".to_owned());
    }
    let _right = writing.lock().await;
    let taken = place::take_in(&lake).await?;
    let built = place::build(&lake, place.partitions()).await?;
    app.loops().wake("tell");
    app.events().tell("cut", Audience::All, app.now_ms(), json!({"segments": taken.segments}));
    if !taken.quarantined.is_empty() {
        let data = json!({"quarantined": taken.quarantined.len()});
        app.events().tell("quarantine", Audience::Staff, app.now_ms(), data);
    }
    Ok(format!(
        "{} segments taken in, {} rows new, {} set aside; {} days built",
        taken.segments,
        taken.rows,
        taken.quarantined.len(),
        built.days
    ))
}

/// Checks every invariant of the newest ledger.
pub(crate) async fn check(app: App, place: Place) -> Result<String, String> {
    let work = async {
        let lake = Lake::open(&place.data, false)?;
        let zone = place.zone(None)?.unwrap_or(chrono_tz::UTC);
        // beside the questions of people: one thread is enough
        let reader = match Reader::open(&lake, 1, None).await {
            // between taking in and building: no fault, and the next round sees it
            Err(ReportError::Stale) => return Ok(None),
            opened => opened?,
        };
        anyhow::Ok(Some((check::check(&reader, zone).await?, reader.cut())))
    };
    let Some((found, cut)) = work.await.map_err(|e| crate::chain(&e))? else {
        return Ok("the ledger is being built; it is checked in the next round".to_owned());
    };
    let violated: Vec<&str> = found.iter().filter(|f| f.violated).map(|f| f.id.as_str()).collect();
    if violated.is_empty() {
        return Ok(format!("{} invariants hold in cut {cut}", found.len()));
    }
    let data = json!({"cut": cut, "violated": violated});
    app.events().tell("check", Audience::Staff, app.now_ms(), data);
    Err(format!("violated in cut {cut}: {}; `gpuledger check` says where", violated.join(", ")))
}
