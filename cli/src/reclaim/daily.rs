//! The report of the day: what was scanned and found, what could not be judged and why, and how much of what is held is not used.
//! One a day goes to on-call.

use chrono_tz::Tz;
use gpuledger_aggregator::idle::{Occupancy, occupancy};
use gpuledger_aggregator::lake::Lake;
use gpuledger_notify::Role;
use gpuledger_reclaim::plan::Plan;
use gpuledger_reclaim::port::Unreachable;
use gpuledger_reclaim::sweep::{Sweep, sweep};
use gpuledger_schema::reclaim::Snapshot;
use gpuledger_schema::window::show_ms;

use super::Post;
use crate::place::Place;

/// What ineffective occupancy should be at most, ppm.
const TARGET_PPM: i64 = 30_000;

/// The report of a day.
pub(crate) struct Daily {
    /// The day, in its zone.
    pub(crate) day: String,
    /// What was found.
    pub(crate) sweep: Sweep,
    used: Occupancy,
    zone: Tz,
}

/// The local day of an instant.
fn day_of(ms: i64, zone: Tz) -> String {
    show_ms(ms, zone).split(['T', ' ']).next().unwrap_or_default().to_owned()
}

/// What the messages of a day are caused by.
fn cause(day: &str) -> String {
    format!("sweep/{day}")
}

impl Daily {
    /// Of a plan that was just made.
    ///
    /// # Errors
    /// Where the ledger cannot be read or brought up to date.
    pub(crate) async fn of(
        place: &Place,
        lake: &Lake,
        plan: &Plan,
        snapshot: &Snapshot,
        zone: Tz,
    ) -> anyhow::Result<Self> {
        let used = occupancy(&place.reader(lake).await?, snapshot.at_ms).await?;
        Ok(Self { day: day_of(snapshot.at_ms, zone), sweep: sweep(snapshot, plan), used, zone })
    }

    /// As text for people.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}\n", self.sweep.text(), occupied(&self.used, self.zone))
    }

    /// As a document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "day": self.day,
            "sweep": self.sweep,
            "ineffective_week_ppm": self.used.week_ppm(),
            "ineffective_ppm": self.used.all_ppm(),
            "target_ppm": TARGET_PPM,
        })
    }

    /// Mails it to on-call, once a day.
    ///
    /// # Errors
    /// Where on-call cannot be reached.
    pub(crate) async fn mail(&self, post: &Post) -> Result<(), Unreachable> {
        let s = &self.sweep;
        let title = format!(
            "GPUs held and not used, {}: {} idle, {} unknown of {}",
            self.day, s.idle, s.unknown_in_all, s.scanned
        );
        post.to_role(Role::OnCall, &cause(&self.day), &title, &self.text()).await
    }
}

/// Whether on-call has the report of the day of this instant.
pub(super) async fn is_told(post: &Post, now_ms: i64, zone: Tz) -> anyhow::Result<bool> {
    let of = cause(&day_of(now_ms, zone));
    Ok(!post.outbox().call(move |c| c.outbox_messages_of(&of)).await?.is_empty())
}

/// Ineffective occupancy in a sentence.
fn occupied(of: &Occupancy, zone: Tz) -> String {
    let percent = |ppm: Option<i64>| {
        ppm.map_or_else(|| "unknown".to_owned(), |p| format!("{}.{} %", p / 10_000, p % 10_000 / 1_000))
    };
    let since = of.first_ms.map_or_else(|| "never measured".to_owned(), |ms| format!("since {}", show_ms(ms, zone)));
    format!(
        "held and not used, of what was held and measured: {} in the last seven days, {} {since}; target {} %",
        percent(of.week_ppm()),
        percent(of.all_ppm()),
        TARGET_PPM / 10_000
    )
}
