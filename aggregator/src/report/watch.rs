//! `report watch`: what stands wrong at an instant, a row each: nodes that are late or lost, time that nobody measured, cards that were
//! promised twice, never compared with a known load or not registered, runs that hang or take more memory than they may.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::unit::{CELL_MS, DAY_MS};
use gpuledger_schema::window::{Window, show_ms};

use super::findings::{Asked, findings};
use super::fleet_rows::{columns, days, window_days};
use super::{Ask, Column, Currency, Kind, Reader, Report, ReportError, Value, last_week};
use crate::engine::{Params, bigint};
use crate::rows::Columns;

/// How long minutes, conflicts and gaps are looked back for.
const LOOK_BACK_MS: i64 = 2 * DAY_MS;
/// How long late minutes may still come in before what is missing is a gap.
const SETTLED_MS: i64 = 2 * 3_600_000;
/// A run whose kernels have moved for so long does not hang any more.
const FRESH_MS: i64 = 3_600_000;
/// How long runs are looked back for.
const RUNS_MS: i64 = DAY_MS;

/// From when on something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A node is late whose newest minute is older, ms.
    pub late_ms: i64,
    /// A node has a gap of at least so much GPU time, ms.
    pub gap_ms: i64,
}

/// Half an hour, and an hour of one GPU.
impl Default for Limits {
    fn default() -> Self {
        Self { late_ms: 1_800_000, gap_ms: 3_600_000 }
    }
}

/// A row before it is laid out: what a kind does not have is absent.
#[derive(Debug, Default)]
struct Row {
    kind: &'static str,
    cluster: String,
    node: String,
    device: Option<String>,
    model: Option<String>,
    job: Option<String>,
    job_name: Option<String>,
    user: Option<String>,
    team: Option<String>,
    gpus: Option<i64>,
    since_ms: Option<i64>,
    to_ms: Option<i64>,
    ms: Option<i64>,
    late_minutes: Option<i64>,
    jobs: Option<i64>,
    state: Option<String>,
    reason: Option<String>,
    ppm: [Option<i64>; 2],
    power_mw: Option<i64>,
    bytes: [Option<i64>; 2],
}

fn shown() -> Vec<Column> {
    columns(&[
        ("kind", "what", Kind::Text),
        ("cluster", "cluster", Kind::Text),
        ("node", "node", Kind::Text),
        ("device", "card", Kind::Text),
        ("model", "", Kind::Text),
        ("job", "job", Kind::Text),
        ("job_name", "", Kind::Text),
        ("user", "", Kind::Text),
        ("team", "team", Kind::Text),
        ("gpus", "GPUs", Kind::Count),
        ("since", "since", Kind::Text),
        ("to", "", Kind::Text),
        ("hours", "GPU h", Kind::Hours),
        ("late_minutes", "", Kind::Count),
        ("jobs", "", Kind::Count),
        ("state", "", Kind::Text),
        ("reason", "", Kind::Text),
        ("sm", "", Kind::Percent),
        ("dram", "", Kind::Percent),
        ("power_mw", "", Kind::Count),
        ("used_gib", "", Kind::Gib),
        ("limit_gib", "", Kind::Gib),
        ("since_ms", "", Kind::Count),
        ("to_ms", "", Kind::Count),
    ])
}

fn values(row: Row, zone: Tz) -> Vec<Value> {
    let text = |t: Option<String>| t.map_or(Value::Unknown, Value::Text);
    let count = |n: Option<i64>| n.map_or(Value::Unknown, |n| Value::Count(n.into()));
    let instant = |ms: Option<i64>| text(ms.map(|ms| show_ms(ms, zone)));
    let ppm = |n: Option<i64>| n.map_or(Value::Unknown, |n| Value::Ppm(n.into()));
    let bytes = |n: Option<i64>| n.map_or(Value::Unknown, |n| Value::Bytes(n.into()));
    vec![
        Value::Text(row.kind.to_owned()),
        Value::Text(row.cluster),
        Value::Text(row.node),
        text(row.device),
        text(row.model),
        text(row.job),
        text(row.job_name),
        text(row.user),
        text(row.team),
        count(row.gpus),
        instant(row.since_ms),
        instant(row.to_ms),
        row.ms.map_or(Value::Unknown, |ms| Value::Ms(ms.into())),
        count(row.late_minutes),
        count(row.jobs),
        text(row.state),
        text(row.reason),
        ppm(row.ppm[0]),
        ppm(row.ppm[1]),
        count(row.power_mw),
        bytes(row.bytes[0]),
        bytes(row.bytes[1]),
        count(row.since_ms),
        count(row.to_ms),
    ]
}

/// What stands wrong at an instant (the end of what is known, where none is given), by kind and place.
///
/// # Errors
/// A failing lake or engine.
pub async fn watch(reader: &Reader, at_ms: Option<i64>, zone: Tz, limits: Limits) -> Result<Report, ReportError> {
    reader.whole("watch")?;
    let known_ms = last_week(reader).await?.to_ms;
    let at_ms = at_ms.unwrap_or(known_ms);
    let mut rows = nodes(reader, at_ms, limits).await?;
    rows.extend(uncalibrated(reader, at_ms).await?);
    rows.extend(unregistered(reader, at_ms).await?);
    rows.extend(conflicts(reader, at_ms).await?);
    rows.extend(gaps(reader, at_ms.min(known_ms), limits).await?);
    rows.extend(runs(reader, at_ms.min(known_ms), zone).await?);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row.kind).or_default() += 1);
    let said: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} {}", kind.replace('_', " "))).collect();
    let at = show_ms(at_ms, zone);
    let sentence =
        if said.is_empty() { format!("nothing stands wrong at {at}") } else { format!("at {at}: {}", said.join(", ")) };
    let mut notes = Vec::new();
    if at_ms > known_ms {
        notes.push(format!("nothing is known after {}", show_ms(known_ms, zone)));
    }
    Ok(Report { notes, ..Report::table(sentence, shown(), rows.into_iter().map(|row| values(row, zone)).collect()) })
}

async fn batches(reader: &Reader, statement: &str, params: &Params) -> Result<Vec<RecordBatch>, ReportError> {
    Ok(reader.engine().run(statement, params).await?.1)
}

fn back(at_ms: i64) -> Window {
    Window { from_ms: at_ms - LOOK_BACK_MS, to_ms: at_ms }
}

async fn nodes(reader: &Reader, at_ms: i64, limits: Limits) -> Result<Vec<Row>, ReportError> {
    let mut params = days(back(at_ms));
    params.extend([("at_ms", bigint(at_ms)), ("late_ms", bigint(limits.late_ms))]);
    let mut out = Vec::new();
    for batch in &batches(reader, "read/90_node_watch", &params).await? {
        let c = Columns(batch);
        let (cluster, node, verdict) = (c.word("cluster")?, c.word("node")?, c.word("verdict")?);
        let (gpus, newest, late, jobs) =
            (c.number("gpus")?, c.long("newest_ms")?, c.long("late_minutes")?, c.number("jobs")?);
        let (model, state, reason) = (c.text("model")?, c.text("state")?, c.text("reason")?);
        for i in 0..batch.num_rows() {
            let kind = match verdict[i].as_str() {
                "late" => "late_node",
                "lost" => "node_lost",
                _ => continue,
            };
            out.push(Row {
                kind,
                cluster: cluster[i].clone(),
                node: node[i].clone(),
                model: model[i].clone(),
                gpus: Some(gpus[i]),
                since_ms: newest[i],
                late_minutes: late[i],
                jobs: Some(jobs[i]),
                state: state[i].clone(),
                reason: reason[i].clone(),
                ..Row::default()
            });
        }
    }
    Ok(out)
}

async fn uncalibrated(reader: &Reader, at_ms: i64) -> Result<Vec<Row>, ReportError> {
    let mut out = Vec::new();
    for batch in &batches(reader, "read/91_uncalibrated_node", &days(back(at_ms))).await? {
        let c = Columns(batch);
        let (cluster, node, model) = (c.word("cluster")?, c.word("node")?, c.word("model")?);
        let (gpus, since) = (c.number("gpus")?, c.number("since_ms")?);
        out.extend((0..batch.num_rows()).map(|i| Row {
            kind: "uncalibrated",
            cluster: cluster[i].clone(),
            node: node[i].clone(),
            model: Some(model[i].clone()),
            gpus: Some(gpus[i]),
            since_ms: Some(since[i]),
            ..Row::default()
        }));
    }
    Ok(out)
}

async fn unregistered(reader: &Reader, at_ms: i64) -> Result<Vec<Row>, ReportError> {
    let mut out = Vec::new();
    for batch in &batches(reader, "read/92_unregistered", &Params::from([("at_ms", bigint(at_ms))])).await? {
        let c = Columns(batch);
        let (cluster, node, uuid, model) = (c.word("cluster")?, c.word("node")?, c.word("uuid")?, c.word("model")?);
        let since = c.number("since_ms")?;
        out.extend((0..batch.num_rows()).map(|i| Row {
            kind: "unregistered_gpu",
            cluster: cluster[i].clone(),
            node: node[i].clone(),
            device: Some(uuid[i].clone()),
            model: Some(model[i].clone()),
            gpus: Some(1),
            since_ms: Some(since[i]),
            ..Row::default()
        }));
    }
    Ok(out)
}

/// A row a place; `job` names everybody who held it, separated by commas.
async fn conflicts(reader: &Reader, at_ms: i64) -> Result<Vec<Row>, ReportError> {
    let mut by_unit: BTreeMap<(String, String, String, i64), Row> = BTreeMap::new();
    for batch in &batches(reader, "read/93_conflict_now", &window_days(back(at_ms))).await? {
        let c = Columns(batch);
        let (cluster, node, device, job) = (c.word("cluster")?, c.word("node")?, c.word("device")?, c.word("job")?);
        let (unit, from, to, ms) = (c.number("unit_id")?, c.number("from_ms")?, c.number("to_ms")?, c.number("ms")?);
        for i in 0..batch.num_rows() {
            let key = (cluster[i].clone(), node[i].clone(), device[i].clone(), unit[i]);
            let row = by_unit.entry(key).or_insert_with(|| Row {
                kind: "conflict",
                cluster: cluster[i].clone(),
                node: node[i].clone(),
                device: Some(device[i].clone()),
                since_ms: Some(from[i]),
                to_ms: Some(to[i]),
                ms: Some(ms[i]),
                ..Row::default()
            });
            row.job = Some(row.job.take().map_or_else(|| job[i].clone(), |jobs| format!("{jobs}, {}", job[i])));
        }
    }
    Ok(by_unit.into_values().collect())
}

async fn gaps(reader: &Reader, at_ms: i64, limits: Limits) -> Result<Vec<Row>, ReportError> {
    let to_ms = (at_ms - SETTLED_MS).div_euclid(CELL_MS) * CELL_MS;
    let mut params = window_days(back(to_ms));
    params.insert("least_ms", bigint(limits.gap_ms));
    let mut out = Vec::new();
    for batch in &batches(reader, "read/94_gap_now", &params).await? {
        let c = Columns(batch);
        let (cluster, node, reason) = (c.word("cluster")?, c.word("node")?, c.text("reason")?);
        let (from, to, ms) = (c.number("from_ms")?, c.number("to_ms")?, c.number("ms")?);
        out.extend((0..batch.num_rows()).map(|i| Row {
            kind: "gap",
            cluster: cluster[i].clone(),
            node: node[i].clone(),
            since_ms: Some(from[i]),
            to_ms: Some(to[i]),
            ms: Some(ms[i]),
            reason: reason[i].clone(),
            ..Row::default()
        }));
    }
    Ok(out)
}

/// Runs that go on and need somebody: what the rules of findings say of the last day.
async fn runs(reader: &Reader, at_ms: i64, zone: Tz) -> Result<Vec<Row>, ReportError> {
    let apart = reader.fork().await?;
    let window = Window { from_ms: at_ms - RUNS_MS, to_ms: at_ms };
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: Currency::none() };
    // makes the tables that the statement reads
    findings(&apart, &ask, &Asked { top: Some(0), ..Asked::default() }).await?;
    let mut params = days(window);
    params.extend([("to_ms", bigint(at_ms)), ("fresh_ms", bigint(FRESH_MS))]);
    let mut out = Vec::new();
    for batch in &batches(&apart, "read/95_run_alert", &params).await? {
        let c = Columns(batch);
        let (rule, cluster, node, job) = (c.word("rule")?, c.word("cluster")?, c.word("node")?, c.word("job")?);
        let (name, user, team) = (c.text("job_name")?, c.text("user")?, c.text("team")?);
        let (gpus, from, to) = (c.long("gpus")?, c.number("from_ms")?, c.number("to_ms")?);
        let (sm, dram, power) = (c.long("sm_ppm")?, c.long("dram_ppm")?, c.long("power_mw")?);
        let (used, limit) = (c.long("value")?, c.long("threshold")?);
        for i in 0..batch.num_rows() {
            out.push(Row {
                kind: if rule[i] == "hung" { "hung" } else { "memory_over_quota" },
                cluster: cluster[i].clone(),
                node: node[i].clone(),
                job: Some(job[i].clone()),
                job_name: name[i].clone(),
                user: user[i].clone(),
                team: team[i].clone(),
                gpus: gpus[i],
                since_ms: Some(from[i]),
                to_ms: Some(to[i]),
                ppm: [sm[i], dram[i]],
                power_mw: power[i],
                bytes: [used[i], limit[i]],
                ..Row::default()
            });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_value_for_every_column_and_what_is_absent_is_unknown() {
        let row = Row { kind: "gap", cluster: "c".into(), node: "n".into(), ms: Some(5), ..Row::default() };
        let made = values(row, Tz::UTC);
        assert_eq!(made.len(), shown().len());
        let of = |name: &str| &made[shown().iter().position(|c| c.name == name).unwrap()];
        assert_eq!((of("hours"), of("device"), of("late_minutes")), (&Value::Ms(5), &Value::Unknown, &Value::Unknown));
    }
}
