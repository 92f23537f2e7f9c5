//! Accounting text of the Slurm clusters, as `sacct -X -D --parsable2` prints it with `TZ=UTC`.

use std::fmt::Write;

use chrono::DateTime;
use gpuledger_schema::state::RunState;

use super::catalog::ACCOUNTS;
use super::clock::MINUTE_MS;
use super::hardware::Part;
use super::plan::{Job, Run, Waiting};
use super::rng::mix_below;
use super::world::World;

/// The fields, in the order in which a record has them.
const HEADER: &str = "JobID|JobIDRaw|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|Timelimit|NNodes|\
                      AllocCPUS|ReqTRES|AllocTRES|NodeList|ExitCode|JobName";
/// CPUs given per GPU, and to a job without one.
const CPUS: (i64, i64) = (12, 24);
/// Host memory of a job without GPUs, in GiB.
const PLAIN_GIB: i64 = 96;

/// The accounting text of a cluster: every record that overlaps the data, in the order of submission.
pub(super) fn accounting(world: &World, cluster: usize) -> String {
    let mut out = format!("{HEADER}\n");
    for job in world.jobs.iter().filter(|j| j.cluster == cluster) {
        for run in &job.runs {
            record(world, job, run, &mut out);
        }
        if let Some(waiting) = &job.waiting {
            waits(job, waiting, &mut out);
        }
    }
    out
}

fn record(world: &World, job: &Job, run: &Run, out: &mut String) {
    let over = run.end_ms <= world.clock.span.to_ms;
    let (state, exit) = if over { (run.state, run.exit) } else { (RunState::Running, "0:0") };
    let end = if over { time(run.end_ms) } else { "Unknown".to_owned() };
    let nodes = node_list(world, job, run);
    let times = [time(run.submit_ms), time(run.eligible_ms), time(run.start_ms), end];
    line(job, &state_text(job, state), &times, [&granted(world, job), &nodes, exit], out);
}

fn waits(job: &Job, waiting: &Waiting, out: &mut String) {
    let submit = time(waiting.submit_ms);
    let (state, at) = match waiting.cancelled_ms {
        Some(ms) => (RunState::Cancelled, time(ms)),
        None => (RunState::Pending, "Unknown".to_owned()),
    };
    let times = [submit.clone(), submit, at.clone(), at];
    line(job, &state_text(job, state), &times, ["", "None assigned", "0:0"], out);
}

/// One record; `rest` is what was granted, the nodes and the exit code.
fn line(job: &Job, state: &str, times: &[String; 4], rest: [&str; 3], out: &mut String) {
    let [submit, eligible, start, end] = times;
    let [granted, nodes, exit] = rest;
    let limit = job.limit_ms.map_or_else(|| "UNLIMITED".to_owned(), time_limit);
    let cpus = if granted.is_empty() { 0 } else { cpus(job) };
    let (account, kind) = (ACCOUNTS[job.account].name, job.kind);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}|{}|{}|{account}|{}|{}|{state}|{submit}|{eligible}|{start}|{end}|{limit}|{}|{cpus}|{}|{granted}|{nodes}|\
         {exit}|{}",
        job.id,
        job.raw,
        job.user,
        kind.queue,
        kind.qos,
        kind.nodes,
        asked(job),
        job.name,
    );
}

fn state_text(job: &Job, state: RunState) -> String {
    match state {
        RunState::Cancelled => format!("CANCELLED by {}", 1_200 + mix_below(job.seed, 9, 40)),
        other => other.as_str().to_owned(),
    }
}

fn cpus(job: &Job) -> i64 {
    match gpus(job) {
        0 => CPUS.1,
        gpus => gpus * CPUS.0,
    }
}

/// GPUs of all its nodes together.
fn gpus(job: &Job) -> i64 {
    i64::from(job.gpus) * job.kind.nodes as i64
}

fn memory_gib(job: &Job) -> i64 {
    match gpus(job) {
        0 => PLAIN_GIB,
        gpus => gpus * job.kind.ask_gib,
    }
}

fn asked(job: &Job) -> String {
    let gpu = if gpus(job) > 0 { format!("gres/gpu={},", gpus(job)) } else { String::new() };
    let (cpus, nodes) = (cpus(job), job.kind.nodes);
    format!("billing={cpus},cpu={cpus},{gpu}mem={}G,node={nodes}", memory_gib(job))
}

/// What was granted: the same, with the type of the GPUs beside their count.
fn granted(world: &World, job: &Job) -> String {
    let plain = asked(job);
    let kind = match job.part {
        Part::Whole | Part::Replica | Part::Sliver => world.hardware.clusters[job.cluster].model.gres,
        Part::Small => "1g.10gb",
        Part::Large => large(world, job),
    };
    plain.replace("gres/gpu=", &format!("gres/gpu:{kind}={},gres/gpu=", gpus(job)))
}

/// Profile of the instance that a job got.
fn large(world: &World, job: &Job) -> &'static str {
    let slot = job.runs.first().and_then(|r| r.slots.first());
    slot.and_then(|s| world.hardware.slots[*s].instance.as_ref()).map_or("3g.40gb", |i| i.profile)
}

fn node_list(world: &World, job: &Job, run: &Run) -> String {
    let mut names: Vec<&str> = run
        .slots
        .iter()
        .map(|s| world.hardware.nodes[world.hardware.cards[world.hardware.slots[*s].card].node].name.as_str())
        .collect();
    names.dedup();
    match names.as_slice() {
        [] => format!("{}-cpu{:02}", world.hardware.clusters[job.cluster].name, 1 + mix_below(job.seed, 4, 2)),
        [one] => (*one).to_owned(),
        many => {
            let stem = many[0].trim_end_matches(|c: char| c.is_ascii_digit());
            let numbers: Vec<&str> = many.iter().map(|n| n.trim_start_matches(stem)).collect();
            format!("{stem}[{}]", numbers.join(","))
        }
    }
}

/// An instant as a naive UTC time.
fn time(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms)
        .map_or_else(|| "Unknown".to_owned(), |t| t.format("%Y-%m-%dT%H:%M:%S").to_string())
}

/// A time limit in Slurm's form.
fn time_limit(ms: i64) -> String {
    let minutes = ms / MINUTE_MS;
    let (days, hours, minutes) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
    if days > 0 { format!("{days}-{hours:02}:{minutes:02}:00") } else { format!("{hours:02}:{minutes:02}:00") }
}
