//! One record of a job table becomes a request and, where it ran, a run.

use gpuledger_schema::id::{allocation_id, hint_of_job, id63, job_id};
use gpuledger_schema::state::{Evidence, RunState};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobAverageRow, JobRow};
use gpuledger_schema::unit::{CARD_UNITS, PPM};

use super::fields::{BYTES_MAX, Fields};
use super::{Fault, Found, Run};
use crate::import::decimal::Rounding;
use crate::import::map::{Anchor, Average, AverageUnit, Count, Instant, Measure, NoStart, PartUnit, State, Text};

/// Greatest load average that is believed: a million cores.
const CPU_LOAD_PPM_MAX: i64 = 1_000_000 * PPM;

/// The instants of a record.
#[derive(Debug, Clone, Copy)]
struct Times {
    submit: i64,
    eligible: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
}

/// GPUs as a record counts them.
#[derive(Debug, Clone, Copy)]
struct Gpus {
    units: i64,
    exact: bool,
    count: i64,
}

/// A fact beside the run itself: where it cannot be read it is left out and noted, and the run goes in.
struct Beside(Vec<Fault>);

impl Beside {
    fn take<T>(&mut self, read: Result<Option<T>, Fault>) -> Option<T> {
        read.unwrap_or_else(|fault| {
            self.0.push(Fault { reason: format!("{} (left out; the record went in)", fault.reason), ..fault });
            None
        })
    }
}

/// Reads a record under the raw id it goes by. The as-of is put in later, when the whole file is known.
pub(super) fn read(fields: &Fields<'_>, cluster: &str, job_raw: &str) -> Result<Found, Fault> {
    let times = times(fields)?;
    let (state, recorded_end) = state(fields, &times)?;
    let gpus = gpus(fields, &fields.map.granted.gpus, fields.map.granted.gpu_share.as_ref());
    let mut beside = Beside(Vec::new());

    let job = job(fields, cluster, job_raw, &times, state, &mut beside)?;
    let run = match times.start {
        None => None,
        Some(start) => {
            let node = node(fields)?;
            let row = allocation(fields, &job, start, recorded_end, gpus?, node.as_deref(), &mut beside);
            let device = holding(&row, node);
            let averages = averages(fields, &row, &mut beside);
            Some(Run { allocation: row, device, averages })
        }
    };
    let instants = [Some(times.submit), times.eligible, times.start, times.end];
    let (mut from_ms, mut to_ms) = (times.submit, times.submit);
    for ms in instants.into_iter().flatten() {
        from_ms = from_ms.min(ms);
        to_ms = to_ms.max(ms);
    }
    Ok(Found { job, run, from_ms, to_ms, beside: beside.0 })
}

fn times(fields: &Fields<'_>) -> Result<Times, Fault> {
    let time = &fields.map.time;
    let column_of = |instant: &Instant| match instant {
        Instant::Column { column, .. } => column.clone(),
        Instant::From(_) => String::new(),
    };
    let missing = |instant: &Instant, what: &str| Fault::new(&column_of(instant), format!("no {what}"));
    let own_submit = fields.instant(&time.submit)?;
    let own_start = fields.instant(&time.start)?;
    let start = if time.start == Instant::From(Anchor::Submit) { own_submit } else { own_start };
    let submit = if time.submit == Instant::From(Anchor::Start) { start } else { own_submit };
    if start.is_none() && time.no_start == NoStart::Refuse {
        return Err(missing(&time.start, "start"));
    }
    let submit = submit.ok_or_else(|| missing(&time.submit, "submit time"))?;
    let other = |instant: Option<&Instant>| match instant {
        Some(Instant::From(Anchor::Submit)) => Ok(Some(submit)),
        Some(Instant::From(Anchor::Start)) => Ok(start),
        Some(column) => fields.instant(column),
        None => Ok(None),
    };
    let eligible = other(time.eligible.as_ref())?;
    let mut end = other(time.end.as_ref())?;
    if let (Some(span), Some(start)) = (&time.duration, start) {
        end = fields.span(span)?.map(|ms| start + ms);
    }
    match (start, end, &time.end) {
        (Some(start), Some(end), Some(column)) if end < start => {
            Err(Fault::new(&column_of(column), "the end is before the start"))
        }
        _ => Ok(Times { submit, eligible, start, end }),
    }
}

/// The state, and the end as far as it is one: of a run that is not over it is only how far it had come.
fn state(fields: &Fields<'_>, times: &Times) -> Result<(RunState, Option<i64>), Fault> {
    let (column, word) = match &fields.map.state {
        State::ByEnd => ("", None),
        State::Constant(state) => ("", times.start.map(|_| *state)),
        State::Column { column, words } => {
            let text = fields.raw(column);
            let known = || words.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let unknown = || Fault::new(column, format!("unknown state `{text}`; the map has {}", known()));
            (column.as_str(), Some(*words.get(text).ok_or_else(unknown)?))
        }
    };
    if times.start.is_none() {
        return match word.unwrap_or(RunState::Pending) {
            state if may_never_start(state) => Ok((state, None)),
            state => Err(Fault::new(column, format!("{state} and no start"))),
        };
    }
    let by_end = if times.end.is_some() { RunState::Ended } else { RunState::Running };
    match word.unwrap_or(by_end) {
        RunState::Pending => Err(Fault::new(column, "PENDING and a start")),
        state => Ok((state, times.end.filter(|_| state.is_terminal()))),
    }
}

/// Whether a request can come to this state without ever having got anything.
const fn may_never_start(state: RunState) -> bool {
    matches!(
        state,
        RunState::Pending
            | RunState::Cancelled
            | RunState::Failed
            | RunState::Deadline
            | RunState::BootFail
            | RunState::Revoked
    )
}

fn gpus(fields: &Fields<'_>, count: &Count, share: Option<&Count>) -> Result<Gpus, Fault> {
    let column = count.value.column().unwrap_or_default();
    let number = fields.number(count)?.ok_or_else(|| Fault::new(column, "no number of GPUs"))?;
    let too_fine = || Fault::new(column, "more digits than a share of a GPU can have");
    let (mut total, mut of) = (number, count.of);
    if let Some(share) = share {
        let part_column = share.value.column().unwrap_or_default();
        let part = fields.number(share)?.ok_or_else(|| Fault::new(part_column, "no share of a GPU"))?;
        if part.cards(share.of).ok_or_else(too_fine)?.0 > CARD_UNITS {
            return Err(Fault::new(part_column, "a share of more than a whole GPU"));
        }
        total = total.times(part).ok_or_else(too_fine)?;
        of *= share.of;
    }
    let (units, exact) = total.cards(of).ok_or_else(too_fine)?;
    let whole = number.scaled(1, count.of, Rounding::Up).unwrap_or_default();
    Ok(Gpus { units, exact, count: if units == 0 { 0 } else { whole } })
}

fn job(
    fields: &Fields<'_>,
    cluster: &str,
    job_raw: &str,
    times: &Times,
    state: RunState,
    beside: &mut Beside,
) -> Result<JobRow, Fault> {
    let (map, asked) = (fields.map, &fields.map.asked);
    let asked_gpus = asked.gpus.as_ref().map(|c| gpus(fields, c, asked.gpu_share.as_ref()).map(|g| g.units));
    Ok(JobRow {
        job_id: job_id(cluster, job_raw, times.submit),
        cluster: cluster.to_owned(),
        job_raw: job_raw.to_owned(),
        submit_ms: times.submit,
        eligible_ms: times.eligible,
        het_leader: None,
        array_job: None,
        array_task: None,
        tasks: 1,
        state: state.to_string(),
        user: fields.text(map.job.user.as_ref()),
        account: fields.text(map.job.account.as_ref()),
        queue: fields.text(map.job.queue.as_ref()),
        qos: fields.text(map.job.qos.as_ref()),
        name: fields.text(map.job.name.as_ref()),
        labels: labels(fields)?,
        workload_kind: fields.text(map.job.workload_kind.as_ref()),
        priority: None,
        reservation: None,
        comment: None,
        req_gpu_units: beside.take(asked_gpus.transpose()),
        req_model: fields.text(asked.model.as_ref()),
        req_mem_bytes: beside.take(fields.memory(asked.mem.as_ref())),
        req_gpu_mem_bytes: beside.take(fields.memory(asked.gpu_mem.as_ref())),
        req_cpus: beside.take(fields.count(asked.cpus.as_ref())),
        req_nodes: beside.take(fields.count(asked.node_count.as_ref())),
        time_limit_ms: asked.time_limit.as_ref().and_then(|span| beside.take(fields.span(span))),
        pending_reason: None,
        workload_uid: None,
        workload_name: None,
        workload_replicas: None,
        priority_class: None,
        limit_cpus_milli: None,
        limit_mem_bytes: None,
        gone_ms: None,
        source: map.source.clone(),
        as_of_ms: 0,
    })
}

/// Labels as `key=value`, one a line, sorted; a label without a value is left out.
fn labels(fields: &Fields<'_>) -> Result<Option<String>, Fault> {
    let mut lines = Vec::new();
    for (key, text) in &fields.map.job.labels {
        let Some(value) = fields.text(Some(text)) else { continue };
        if value.contains(['\n', '\r']) {
            return Err(Fault::new(text.column().unwrap_or_default(), "a label with a line break in it"));
        }
        lines.push(format!("{key}={value}"));
    }
    lines.sort();
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// The one host a run is on, where the map names a column for it.
fn node(fields: &Fields<'_>) -> Result<Option<String>, Fault> {
    let Some(node) = fields.text(fields.map.granted.node.as_ref()) else { return Ok(None) };
    if node.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
        return Ok(Some(node));
    }
    let column = fields.map.granted.node.as_ref().and_then(Text::column).unwrap_or_default();
    Err(Fault::new(column, format!("`{node}` is not the name of one host (map a list of hosts as `nodes`)")))
}

fn allocation(
    fields: &Fields<'_>,
    job: &JobRow,
    start: i64,
    end: Option<i64>,
    gpus: Gpus,
    node: Option<&str>,
    beside: &mut Beside,
) -> AllocationRow {
    let granted = &fields.map.granted;
    let terminal = job.state.parse::<RunState>().is_ok_and(RunState::is_terminal);
    AllocationRow {
        allocation_id: allocation_id(&job.cluster, &job.job_raw, start),
        job_id: job.job_id,
        hint_id: hint_of_job(&job.cluster, &job.job_raw),
        cluster: job.cluster.clone(),
        job_raw: job.job_raw.clone(),
        submit_ms: job.submit_ms,
        start_ms: start,
        end_ms: end,
        terminal,
        state: job.state.clone(),
        exit_code: fields.text(fields.map.job.exit_code.as_ref()),
        nodes: fields.text(granted.nodes.as_ref()).or_else(|| node.map(str::to_owned)),
        node_count: beside.take(fields.count(granted.node_count.as_ref())),
        gpu_units: gpus.units,
        gpu_count: gpus.count,
        gpu_exact: gpus.exact,
        model: fields.text(granted.model.as_ref()),
        cpus: beside.take(fields.count(granted.cpus.as_ref())),
        mem_bytes: beside.take(fields.memory(granted.mem.as_ref())),
        gpu_mem_bytes: beside.take(fields.memory(granted.gpu_mem.as_ref())),
        preemptible: None,
        last_checkpoint_ms: None,
        suspended_ms: None,
        sluid: None,
        original_sluid: None,
        end_reason: None,
        last_seen_ms: None,
        image_pull_ms: None,
        image_ready_ms: None,
        container_start_ms: None,
        source: job.source.clone(),
        as_of_ms: 0,
    }
}

/// GPUs that nobody named: a count on the node, or on the cluster where no node is known.
fn holding(run: &AllocationRow, node: Option<String>) -> Option<AllocationDeviceRow> {
    let evidence = Evidence::Count.as_str();
    let allocation = run.allocation_id.to_string();
    let holding_id = id63("holding", &[&allocation, node.as_deref().unwrap_or_default(), evidence, ""]);
    (run.gpu_units > 0).then(|| AllocationDeviceRow {
        holding_id,
        allocation_id: run.allocation_id,
        cluster: run.cluster.clone(),
        node,
        device_id: None,
        instance_id: None,
        model: run.model.clone(),
        share_units: run.gpu_units,
        evidence: evidence.to_owned(),
        gres_index: None,
        index_rule: None,
        from_ms: None,
        to_ms: None,
        as_of_ms: 0,
    })
}

fn averages(fields: &Fields<'_>, run: &AllocationRow, beside: &mut Beside) -> Vec<JobAverageRow> {
    let mut rows = Vec::new();
    for Average { measure, column, unit } in &fields.map.averages {
        let unit = match unit {
            AverageUnit::Part(PartUnit::Percent) => PPM / 100,
            AverageUnit::Part(PartUnit::Ratio) => PPM,
            AverageUnit::Part(PartUnit::Ppm) => 1,
            AverageUnit::Memory(unit) => unit.bytes(),
        };
        let most = match measure {
            _ if measure.is_bytes() => BYTES_MAX,
            Measure::CpuLoad => CPU_LOAD_PPM_MAX,
            _ => PPM,
        };
        let Some(value) = beside.take(fields.quantity(column, unit, most)) else { continue };
        rows.push(JobAverageRow {
            allocation_id: run.allocation_id,
            measure: measure.as_str().to_owned(),
            unit: if measure.is_bytes() { "bytes" } else { "ppm" }.to_owned(),
            value,
            source: run.source.clone(),
            as_of_ms: 0,
        });
    }
    rows
}
