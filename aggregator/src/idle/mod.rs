//! Who holds GPUs and does nothing with them: `sql/idle` over the minutes and allocations of the newest cut, as a snapshot that a
//! plan of reclaiming reads.
//!
//! Minutes are read, and not cells: a verdict is about the last minutes, and about every one of them. What is read begins with a UTC
//! day; of what rested before that an earlier look knows since when ([`Asked::known`]). A look changes nothing.

mod fleet;
mod read;
mod report;
mod stray;
mod table;

use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::reclaim::Snapshot;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window;

use crate::engine::{Engine, Params, bigint, int};
use crate::lake::{Cut, Lake};
use crate::ledger;
use crate::report::ReportError;

pub use read::Judged;
pub use report::{Occupancy, idle_report, occupancy};
pub use table::{IdlePolicy, PowerFloor};

/// A day of low use, and room for the hours in which a look is late.
const LEAST_MS: i64 = 26 * 3_600_000;

/// What runs are judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Windows, and whom they are about.
    pub policies: Vec<IdlePolicy>,
    /// Power of cards with nothing to do, where somebody says it.
    pub floors: Vec<PowerFloor>,
    /// How old the newest tick may be, ms.
    pub tick_ms: i64,
    /// How old the scheduler's reading may be, ms.
    pub reading_ms: i64,
    /// Least measured part of a window, ppm.
    pub coverage_ppm: i64,
    /// A longer hole between looks at a card starts its clock again, ms.
    pub hole_ms: i64,
    /// Witnesses that idleness needs: 2. One is for advice about the past.
    pub witnesses: i64,
    /// SHA-256 of the policy that all this stands in.
    pub policy_hash: String,
}

/// What a look is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The instant, epoch ms.
    pub at_ms: i64,
    /// Of now; else of the past: as it was known then.
    pub live: bool,
    /// Allocations and since when earlier looks knew them at rest, epoch ms.
    pub known: &'a [(i64, i64)],
}

/// What was seen in one look.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Everything that a plan reads, but for what a store keeps: cases, switches, what was asked before.
    pub snapshot: Snapshot,
    /// The same by holder, with what only people read.
    pub judged: Vec<Judged>,
    /// The cut that it came from.
    pub cut: u64,
}

/// What is kept between looks: the ticks of a span of days of one cut.
struct Kept {
    cut: u64,
    days: (i32, i32),
    engine: Engine,
}

/// Looks at a lake, again and again. As long as no other cut is there, ticks are placed once.
pub struct Looker {
    lake: Lake,
    partitions: usize,
    kept: Option<Kept>,
}

impl std::fmt::Debug for Looker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Looker").field("lake", &self.lake.shown()).finish_non_exhaustive()
    }
}

impl Looker {
    /// Looks at this lake.
    pub fn new(lake: Lake, partitions: usize) -> Self {
        Self { lake, partitions, kept: None }
    }

    /// The lake that is looked at.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// The number of the newest cut.
    ///
    /// # Errors
    /// Where the lake is empty, or cannot be read.
    pub async fn newest(&self) -> Result<u64, ReportError> {
        let found = self.lake.newest::<Cut>(path::CUTS).await?;
        found.map(|(Numbered(number), _)| number).ok_or_else(|| ReportError::Empty(self.lake.shown().to_owned()))
    }

    /// What there is at an instant, judged.
    ///
    /// # Errors
    /// Where the lake is empty, or a statement fails; nothing is inferred from that.
    pub async fn look(&mut self, rules: &Rules, asked: &Asked<'_>) -> Result<Seen, ReportError> {
        let from_day = day_of(asked.at_ms - rules.reach_ms());
        let days = (from_day, day_of(asked.at_ms) + 1);
        let (cut, engine) = self.ticks(days).await?;
        let engine = engine.fork(self.partitions).await?;
        table::register(&engine, rules, asked.known)?;
        steps(&engine, rules, asked, from_day).await?;
        let (snapshot, judged) = read::read(&engine, rules, asked).await?;
        Ok(Seen { snapshot, judged, cut })
    }

    /// The session with the ticks of these days, of the newest cut.
    async fn ticks(&mut self, days: (i32, i32)) -> Result<(u64, Engine), ReportError> {
        let newest = self.lake.newest::<Cut>(path::CUTS).await?;
        let (Numbered(number), cut) = newest.ok_or_else(|| ReportError::Empty(self.lake.shown().to_owned()))?;
        if let Some(kept) = self.kept.as_ref().filter(|k| k.cut == number && k.days == days) {
            return Ok((number, kept.engine.clone()));
        }
        self.kept = None;
        let engine = Engine::new(self.partitions);
        ledger::register_cut(&engine, &self.lake, &cut).await?;
        ledger::whole_history(&engine).await?;
        ledger::tick_steps(&engine, days).await?;
        self.kept = Some(Kept { cut: number, days, engine: engine.clone() });
        Ok((number, engine))
    }
}

impl Rules {
    /// How far back minutes are read: the longest window, at least a day.
    fn reach_ms(&self) -> i64 {
        let longest = self.policies.iter().map(|p| p.idle_ms.max(p.never_ms)).max().unwrap_or(0);
        longest.saturating_add(self.hole_ms).max(LEAST_MS)
    }
}

fn day_of(ms: i64) -> i32 {
    i32::try_from(window::day_of(ms)).unwrap_or(0)
}

/// Every statement, in order.
async fn steps(engine: &Engine, rules: &Rules, asked: &Asked<'_>, from_day: i32) -> Result<(), ReportError> {
    let at = ("at_ms", bigint(asked.at_ms));
    let live = ("live", datafusion::common::ScalarValue::Boolean(Some(asked.live)));
    let day = ("day_from", int(from_day - 1));
    let hole = ("hole_ms", bigint(rules.hole_ms));
    let seen = ("seen_ms", bigint(i64::from(from_day) * DAY_MS));
    let (tick, reading) = (("tick_ms", bigint(rules.tick_ms)), ("reading_ms", bigint(rules.reading_ms)));
    let coverage = ("coverage_ppm", bigint(rules.coverage_ppm));
    let witnesses = ("witnesses", bigint(rules.witnesses));
    let none = Params::new();
    let when = Params::from([at.clone()]);
    let by_day = Params::from([at.clone(), day.clone()]);
    let day_alone = Params::from([day.clone()]);
    let clock = Params::from([hole.clone(), seen]);
    let fresh = Params::from([at.clone(), tick.clone()]);
    let verdict = Params::from([at.clone(), tick, reading.clone(), coverage, hole.clone()]);
    for (step, params) in [
        ("idle/01_newest", &when),
        ("idle/02_standing", &Params::from([at.clone(), live.clone(), day.clone()])),
        ("idle/03_run", &none),
        ("idle/03_idle_card", &when),
        ("idle/04_slot_use", &none),
        ("ledger/61_unit", &none),
        ("charge/11_present", &none),
        ("charge/20_owner_key", &none),
        ("charge/21_owner_match", &none),
        ("charge/22_owner_span", &none),
        ("charge/30_place", &none),
        ("charge/31_pool_span", &none),
        ("idle/05_run_place", &when),
        ("idle/10_subject", &when),
        ("idle/20_power_floor", &when),
        ("idle/30_idle_tick", &Params::from([at.clone(), hole, witnesses])),
        ("idle/40_idle_clock", &clock),
        ("idle/41_idle_run", &clock),
        ("idle/42_idle_coverage", &none),
        ("idle/43_idle_reason", &when),
        ("idle/44_idle_seen", &fresh),
        ("idle/45_idle_read", &Params::from([at.clone(), live])),
        ("idle/50_verdict", &verdict),
        ("idle/63_job_gone", &Params::from([at, day, reading])),
        ("idle/60_outside", &by_day),
        ("idle/61_memory_held", &by_day),
        ("idle/62_dead_holder", &by_day),
        ("idle/70_low_use", &when),
        ("idle/71_alert", &fresh),
        ("idle/72_idle_pool", &when),
        ("idle/72_borrowed", &when),
        ("idle/73_reached", &when),
        ("idle/80_judged", &day_alone),
        ("idle/81_stray", &none),
        ("idle/82_card_seen", &by_day),
    ] {
        engine.step(step, params).await?;
    }
    Ok(())
}
