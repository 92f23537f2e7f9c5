//! `report fragmentation`: free cards that cannot be used as they lie, by kind, with the requests that each kind blocks.

use super::fleet_rows::{columns, instants, rows, sums, window_days};
use super::grouped::Measure;
use super::render::hours;
use super::{Ask, Kind, Reader, Report, ReportError};
use crate::engine::Params;

/// Runs the chain from usage and requests to the fragment loss.
pub(super) async fn fragment_steps(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    reader.calendar(ask.window, ask.zone)?;
    let (window, instants, none) = (window_days(ask.window), instants(ask.window), Params::new());
    for (step, params) in [
        ("waste/70_free_cell", &window),
        ("waste/71_left_cell", &window),
        ("waste/72_scatter_cell", &none),
        ("waste/73_pending_cell", &instants),
        ("waste/74_blocked_cell", &none),
        ("waste/75_part_blocked", &none),
        ("waste/76_fragment_hit", &none),
        ("waste/76_fragment_loss", &none),
    ] {
        reader.engine().step(step, params).await?;
    }
    Ok(())
}

/// Fragmentation of a window, per cluster and kind.
///
/// # Errors
/// A failing lake or engine.
pub async fn fragmentation(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    reader.whole("fragmentation")?;
    fragment_steps(reader, ask).await?;
    let shown = columns(&[
        ("cluster", "cluster", Kind::Text),
        ("kind", "kind", Kind::Text),
        ("size", "size", Kind::Text),
        ("fragment_hours", "GPU h", Kind::Hours),
        ("jobs", "jobs blocked", Kind::Count),
        ("asked_hours", "asked h", Kind::Hours),
        ("free_hours", "of free h", Kind::Hours),
    ]);
    let made = rows(reader.engine(), "waste/77_fragmentation", &Params::new(), &shown).await?;
    let loss = sums(reader.engine(), "fragment_loss", &[], &[Measure::Sum("fragment_ms")]).await?;
    let loss = loss.first().and_then(|g| g.sums[0]).unwrap_or(0);
    let sentence = format!("{} GPU-hours were free by count and no use to those who waited", hours(loss, 1));
    let note =
        "kinds overlap in the same cards and are not added together; a card counts in a cell if it was free all of it";
    Ok(Report { notes: vec![note.to_owned()], ..Report::table(sentence, shown, made) })
}

/// The requests that fragmentation blocked in a window, by kind.
///
/// # Errors
/// A failing lake or engine.
pub async fn fragmented_jobs(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    fragment_steps(reader, ask).await?;
    let shown = columns(&[
        ("cluster", "cluster", Kind::Text),
        ("job", "job", Kind::Text),
        ("user", "user", Kind::Text),
        ("account", "account", Kind::Text),
        ("queue", "queue", Kind::Text),
        ("gpus", "GPUs", Kind::Text),
        ("kind", "blocked by", Kind::Text),
        ("size", "size", Kind::Text),
        ("blocked_hours", "blocked h", Kind::Hours),
        ("asked_hours", "GPU h", Kind::Hours),
        ("still_waiting", "waits", Kind::Text),
        ("reason", "scheduler says", Kind::Text),
    ]);
    let made = rows(reader.engine(), "waste/78_blocked_job", &Params::new(), &shown).await?;
    let jobs: std::collections::BTreeSet<String> = made.iter().map(|r| format!("{:?}{:?}", r[0], r[1])).collect();
    Ok(Report {
        notes: vec![
            "a request for a part of a card is blocked where leftovers would do together and none alone".to_owned(),
        ],
        ..Report::table(
            format!("{} requests waited although as many cards as they ask for were free", jobs.len()),
            shown,
            made,
        )
    })
}
