//! What a place is and how far it is, for the head of every page.

use gpuledger_aggregator::close::{Manifest, phase};
use gpuledger_aggregator::lake::LakeError;
use gpuledger_api::answer::{Month, Place as Told};
use gpuledger_api::problem::Problem;
use gpuledger_api::state::chain;
use gpuledger_schema::path;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window;

use super::Ledger;
use super::fault::{problem, problem_of};
use super::open::Open;
use crate::clock;

impl Ledger {
    /// What this place is.
    ///
    /// # Errors
    /// The data cannot be read.
    pub(super) async fn told(&self) -> Result<Told, Problem> {
        let lake = self.lake()?;
        let unavailable = |e: LakeError| Problem::unavailable(chain(&e));
        let zone = self.place.zone(None).map_err(|e| problem(&e))?;
        let currency = self.place.currency(&lake).ok().map(|c| c.code().to_owned());
        let mut told = Told { zone: zone.map(|z| z.name().to_owned()), currency, ..Told::default() };
        let Some(at) = Open::newest(&lake).await.map_err(|e| problem_of(&e))? else { return Ok(told) };
        told.cut = Some(at.cut);
        let waiting = lake.list_nested(path::INBOX).await.map_err(unavailable)?;
        told.waiting_segments = Some(waiting.iter().filter(|o| o.name.ends_with(".parquet")).count() as u64);
        let Some((first, last)) = at.days else { return Ok(told) };
        let zone = zone.unwrap_or(chrono_tz::UTC);
        let (from_ms, to_ms) = (i64::from(first) * DAY_MS, (i64::from(last) + 1) * DAY_MS);
        told.known_from_ms = Some(from_ms);
        let known = self.open.known_to(&lake, self.place.partitions(), at, zone).await.map_err(Problem::unavailable)?;
        let known = known.unwrap_or(to_ms);
        told.known_to_ms = Some(known);
        let closed = Manifest::all(&lake).await.map_err(unavailable)?;
        let number = |ms: i64| window::month_number(&window::month_of(ms, zone)).unwrap_or(0);
        for n in number(from_ms)..=number(known - 1) {
            let month = window::month_name(n);
            let manifest = closed.iter().find(|m| m.period == month);
            let Ok(of) = window::month(&month, zone) else { continue };
            let state = phase(of, manifest.is_some(), clock::now_ms()).as_str().to_lowercase();
            let hash = manifest.map(|m| m.output_sha256.clone());
            told.months.push(Month { month, state, hash });
        }
        Ok(told)
    }
}
