//! Drives the product: segments into a lake, ingest, build, and usage and cost read back.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use gpuledger_aggregator::bill::{self, Period};
use gpuledger_aggregator::engine::Engine;
use gpuledger_aggregator::lake::{Build, Cut, Lake};
use gpuledger_aggregator::report::{self, Ask, Reader};
use gpuledger_aggregator::{ingest, ledger, reference};
use gpuledger_collector::segment::{Segment, pair, segment};
use gpuledger_control::{Control, ReferenceTable};
use gpuledger_schema::path;
use gpuledger_schema::table::Row;
use gpuledger_schema::window::{Window, day_of};

use super::make::World;
use super::rng::Rng;
use crate::oracle::{Amount, Facts, Key, Line, Sum};

/// A lake of its own, gone with the value.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) lake: Lake,
}

impl Site {
    pub(crate) fn new() -> Self {
        static STATEMENTS: std::sync::Once = std::sync::Once::new();
        STATEMENTS.call_once(|| {
            let sql = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql");
            gpuledger_aggregator::statement::read_from(&sql).expect("statements");
        });
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join("lake");
        let lake = Lake::open(at.to_str().expect("utf-8"), true).expect("a lake");
        Self { folder, lake }
    }

    /// Puts segments into the inbox and takes them in.
    pub(crate) async fn take_in(&self, segments: &[Segment]) {
        let _lock = self.lake.lock().expect("the only writer");
        for s in segments {
            self.lake.deliver(&s.name.file_name(), s.bytes.clone()).await.expect("delivered");
        }
        let report = ingest::ingest(&self.lake, &mut |_, _| {}).await.expect("taken in");
        assert_eq!(report.quarantined, Vec::<String>::new(), "nothing of a world is in conflict");
    }

    pub(super) async fn publish(&self, control: &Control) {
        for table in ReferenceTable::ALL {
            if control.version(table).expect("a version") > 0 {
                reference::publish(&self.lake, control, table).await.expect("published");
            }
        }
    }

    /// Brings the ledger up to date; gives how many days were built for it.
    pub(crate) async fn build(&self, partitions: usize) -> usize {
        let report = ledger::build(&self.lake, partitions, &mut |_, _| {}).await;
        report.unwrap_or_else(|e| panic!("{e:?}")).days
    }

    /// The newest cut and build, to be reported on.
    pub(crate) async fn reader(&self, partitions: usize) -> Reader {
        Reader::open(&self.lake, partitions, None).await.expect("a reader")
    }

    /// An engine with the newest cut and build.
    pub(crate) async fn engine(&self, partitions: usize) -> Engine {
        let engine = Engine::new(partitions);
        let cut = self.lake.newest::<Cut>(path::CUTS).await.expect("readable").map(|(_, c)| c).unwrap_or_default();
        let build = self.lake.newest::<Build>(path::BUILDS).await.expect("readable").map(|(_, b)| b);
        ledger::register_cut(&engine, &self.lake, &cut).await.expect("registered");
        ledger::register_build(&engine, &self.lake, build.as_ref()).await.expect("registered");
        engine
    }
}

fn shuffled<R: Row + Clone>(rows: &[R], rng: &mut Rng, chunk: i64) -> Vec<Vec<R>> {
    let mut rows = rows.to_vec();
    if chunk > 0 {
        rng.shuffle(&mut rows);
    }
    let mut out = Vec::new();
    while !rows.is_empty() {
        let n = if chunk > 0 { rng.range(1, chunk + 1).min(rows.len() as i64) as usize } else { rows.len() };
        out.push(rows.split_off(rows.len() - n));
    }
    out
}

fn push<R: Row + Clone>(into: &mut Vec<Segment>, writer: &str, rows: &[R], rng: &mut Rng, chunk: i64) {
    for rows in shuffled(rows, rng, chunk) {
        into.extend(segment(writer, &rows).expect("a segment"));
    }
}

/// A world as segments: whole tables, or (with `chunk`) shuffled and in pieces.
pub(super) fn segments(facts: &Facts, writer: &str, rng: &mut Rng, chunk: i64) -> Vec<Segment> {
    let mut out = Vec::new();
    push(&mut out, writer, &facts.device, rng, chunk);
    push(&mut out, writer, &facts.job, rng, chunk);
    push(&mut out, writer, &facts.allocation, rng, chunk);
    push(&mut out, writer, &facts.allocation_device, rng, chunk);
    push(&mut out, writer, &facts.device_claim, rng, chunk);
    push(&mut out, writer, &facts.job_average, rng, chunk);
    push(&mut out, writer, &facts.node_state, rng, chunk);
    push(&mut out, writer, &facts.reading, rng, chunk);
    // the process rows of an interval go with its ticks
    for ticks in shuffled(&facts.device_minute, rng, chunk * 40) {
        let of = |p: &&gpuledger_schema::table::ProcessMinuteRow| {
            ticks.iter().any(|t| (t.device_id, t.boot_id, t.seq) == (p.device_id, p.boot_id, p.seq))
        };
        let processes: Vec<_> = facts.process_minute.iter().filter(of).cloned().collect();
        out.extend(pair(writer, &processes, &ticks).expect("a pair"));
    }
    out
}

/// What is first known on a UTC day: ticks of it, runs that start in it; everything else with its own start.
pub(super) fn of_day(all: &Facts, day: i64) -> Facts {
    let on = |ms: i64| day_of(ms) == day;
    // a live source's rows come when they are written, everything else with the time that it is about
    let live = |source: &str| source.starts_with("slurm:");
    let started: Vec<i64> = all.allocation.iter().filter(|a| on(a.start_ms)).map(|a| a.allocation_id).collect();
    let asked: Vec<i64> = all.allocation.iter().filter(|a| on(a.start_ms)).map(|a| a.job_id).collect();
    let mut out = all.clone();
    out.device.retain(|d| on(d.first_seen_ms));
    out.device_minute.retain(|m| i64::from(m.day) == day);
    out.process_minute.retain(|m| i64::from(m.day) == day);
    out.job.retain(|j| asked.contains(&j.job_id));
    out.allocation.retain(|a| on(if live(&a.source) { a.as_of_ms } else { a.start_ms }));
    out.allocation_device.retain(|h| started.contains(&h.allocation_id));
    out.job_average.retain(|a| started.contains(&a.allocation_id));
    out.device_claim.retain(|c| on(c.as_of_ms));
    out.node_state.retain(|s| on(if live(&s.source) { s.as_of_ms } else { s.from_ms }));
    out.reading.retain(|r| on(r.to_ms));
    out
}

/// Rows of a query; every column as text, absent as None.
pub(crate) async fn rows(engine: &Engine, sql: &str) -> Vec<Vec<Option<String>>> {
    let frame = engine.context().sql(sql).await.unwrap_or_else(|e| panic!("{e}: {sql}"));
    let mut out = Vec::new();
    for batch in frame.collect().await.unwrap_or_else(|e| panic!("{e}: {sql}")) {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(|c| cast(c, &DataType::Utf8).expect("text")).collect();
        for i in 0..batch.num_rows() {
            let text = |c: &ArrayRef| {
                let c = c.as_string::<i32>();
                c.is_valid(i).then(|| c.value(i).to_owned())
            };
            out.push(columns.iter().map(text).collect());
        }
    }
    out
}

/// Usage by cluster, as the product has it.
pub(super) async fn usage(engine: &Engine) -> BTreeMap<String, Vec<Line>> {
    let sql = "SELECT t.cluster, u.unit_id, u.cell, u.holder, u.from_ms, u.to_ms, busy_ms, held_idle_ms, \
        held_unmeasured_ms, unallocated_ms, unavailable_ms, unobserved_ms, covered_ms, effective_ms, held_zero_ms, \
        over_share_ms, conflict_ms, estimated_ms, foreign_ms, mem_peak_bytes, energy_mj, basis, capacity_unknown, \
        stranded_ms \
        FROM usage u LEFT JOIN unit t ON t.unit_id = u.unit_id";
    let mut out: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for row in rows(engine, sql).await {
        let n = |i: usize| row[i].as_ref().map(|v| v.parse::<i64>().expect("a number"));
        let v = |i: usize| n(i).expect("a value");
        let cluster = row[0].clone().expect("a unit of its own");
        out.entry(cluster.trim_end_matches("-acct").to_owned()).or_default().push(Line {
            unit: v(1),
            cell: v(2),
            holder: v(3),
            from: v(4),
            to: v(5),
            busy: v(6),
            idle: v(7),
            unmeasured: v(8),
            unallocated: v(9),
            unavailable: v(10),
            unobserved: v(11),
            covered: v(12),
            effective: n(13),
            zero: v(14),
            over_share: v(15),
            conflict: v(16),
            estimated: v(17),
            foreign: v(18),
            mem_peak: n(19),
            energy: n(20),
            basis: row[21].clone(),
            capacity_unknown: row[22].as_deref() == Some("true"),
            stranded: n(23),
        });
    }
    for lines in out.values_mut() {
        lines.sort();
    }
    out
}

/// What is asked of a window.
fn ask(window: Window, zone: Tz) -> Ask {
    Ask { window, zone, by: Vec::new(), step: None, currency: "CNY".parse().expect("a currency") }
}

/// Time and money by cluster, team and local day.
pub(super) async fn cost(reader: &Reader, w: Window, zone: Tz) -> BTreeMap<String, BTreeMap<(String, i32), Amount>> {
    report::prepare(reader, &ask(w, zone)).await.unwrap_or_else(|e| panic!("{e:?}"));
    let sql = "SELECT cluster, team, day, sum(busy_ms), sum(held_idle_ms), sum(held_unmeasured_ms), \
        sum(unallocated_ms), sum(unavailable_ms), sum(unobserved_ms), sum(unpriced_ms), \
        coalesce(sum(held_cost), 0), coalesce(sum(unallocated_cost), 0), coalesce(sum(unavailable_cost), 0), \
        coalesce(sum(unobserved_cost), 0) FROM fact GROUP BY cluster, team, day";
    let mut out: BTreeMap<String, BTreeMap<(String, i32), Amount>> = BTreeMap::new();
    for row in rows(reader.engine(), sql).await {
        let n = |i: usize| row[i].as_ref().expect("a value").parse::<i128>().expect("a number");
        let cluster = row[0].as_ref().expect("a cluster").trim_end_matches("-acct").to_owned();
        let key = (row[1].clone().expect("a team"), n(2) as i32);
        let sum = out.entry(cluster).or_default().entry(key).or_default();
        for k in 0..6 {
            sum.ms[k] += n(3 + k) as i64;
        }
        sum.unpriced += n(9) as i64;
        for k in 0..4 {
            sum.cost[k] += n(10 + k);
        }
    }
    out
}

/// Lines of statements of a window by what makes them, with what stands on each; of a bill in which every check holds.
pub(super) async fn bill(reader: &Reader, window: Window, zone: Tz) -> BTreeMap<Key, Sum> {
    let period = Period { name: "2026-03".to_owned(), window, zone, currency: ask(window, zone).currency };
    let mut bill = bill::exact(reader, &period, "draft").await.unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(bill::violations(reader, &bill).await.expect("checked"), Vec::<String>::new());
    bill::round(reader.engine(), &period.currency, &mut bill).await.unwrap_or_else(|e| panic!("{e:?}"));
    let c = bill.conservation;
    let sum =
        |platform: bool| bill.lines.iter().filter(|l| l.platform == platform).map(|l| l.amount_minor).sum::<i64>();
    assert_eq!((sum(false), sum(true)), (c.billed_minor, c.fleet_minor - c.billed_minor), "to the minor unit");
    let mut out: BTreeMap<Key, Sum> = BTreeMap::new();
    for l in bill.lines {
        let sum =
            Sum { quantity: l.quantity_ms, held: [l.busy_ms, l.held_idle_ms, l.held_unmeasured_ms], exact: l.exact };
        let key = Key {
            kind: l.kind,
            team: l.team,
            cost_center: l.cost_center,
            pool: l.pool.unwrap_or_default(),
            tier: l.tier,
            model: l.model,
            task_type: l.task_type,
            mode: l.mode.unwrap_or_default(),
            rate: l.rate_id,
            list: l.list_price_micros,
            price: l.price_micros,
            discount: l.discount,
            reason: l.reason,
        };
        if sum != Sum::default() {
            assert_eq!(out.insert(key, sum), None, "a line is there once");
        }
    }
    out
}

/// All rows of usage as text, in key order: what must not change however the rows arrived.
pub(super) async fn usage_text(engine: &Engine) -> Vec<String> {
    let all = rows(engine, "SELECT * FROM usage ORDER BY unit_id, cell, holder, from_ms, to_ms").await;
    all.into_iter().map(|r| r.into_iter().map(|v| v.unwrap_or_default()).collect::<Vec<_>>().join(" ")).collect()
}

/// Segments of some worlds, one table a segment.
pub(crate) fn plain(worlds: &[World]) -> Vec<Segment> {
    let mut rng = Rng::new(0);
    worlds.iter().flat_map(|w| segments(&w.facts, &w.cluster, &mut rng, 0)).collect()
}
