//! The four instants of a record, and which reading of a doubled local hour is the true one.

use chrono_tz::Tz;
use gpuledger_schema::state::RunState;

use super::{Refused, elapsed_ms};
use crate::slurm::duration::span;
use crate::slurm::problem::Problem;
use crate::slurm::sacct_record::SacctRecord;
use crate::slurm::time::{Moment, TimeError, moment};

/// Names of the instants, in the order in which they happen.
const FIELDS: [&str; 4] = ["Submit", "Eligible", "Start", "End"];
/// Where the start stands among them.
const START: usize = 2;
/// Where the end stands among them.
const END: usize = 3;

/// The instants of a record.
pub(super) struct Times {
    pub(super) submit_ms: i64,
    pub(super) eligible_ms: Option<i64>,
    pub(super) start_ms: Option<i64>,
    pub(super) end_ms: Option<i64>,
    pub(super) ignored: Vec<Problem>,
}

type Instants = [Option<i64>; 4];

pub(super) fn read(record: &SacctRecord, state: RunState, zone: Option<Tz>) -> Result<Times, Refused> {
    let refuse =
        |field: &str, reason: String| Refused::Record(Problem::of_field(record.line, field, reason, record.raw()));
    let mut moments = [Moment::Absent; 4];
    for (moment_out, field) in moments.iter_mut().zip(FIELDS) {
        let Some(text) = record.get(&field.to_ascii_lowercase()) else { continue };
        *moment_out = match moment(text, zone) {
            Ok(m) => m,
            Err(TimeError::NoZone(time)) => return Err(Refused::NoZone(time)),
            Err(e) => return Err(refuse(field, e.to_string())),
        };
    }
    let mut ignored = Vec::new();
    // A job that waits has no start, and one that runs has no end: what stands there is an expectation, or a bound
    // that `sacct --truncate` put in.
    for (at, is_due) in [(START, state != RunState::Pending), (END, has_ended(state))] {
        if !is_due && moments[at] != Moment::Absent {
            let reason = format!("field ignored: a {state} job has no {} yet", FIELDS[at].to_lowercase());
            ignored.push(Problem::of_field(record.line, FIELDS[at], reason, record.raw()));
            moments[at] = Moment::Absent;
        }
    }
    let doubled = moments.iter().position(|m| matches!(m, Moment::Twice(..)));
    let [submit, eligible_ms, start_ms, end_ms] = match doubled {
        None => plain(&moments),
        Some(first) => {
            let rest = consistent(&moments, record);
            match rest.as_slice() {
                [one] => *one,
                [] => return Err(refuse(FIELDS[first], doubt(record, FIELDS[first], zone, "no reading fits"))),
                [a, b, ..] => {
                    let open = (0..4).find(|at| a[*at] != b[*at]).unwrap_or(first);
                    return Err(refuse(FIELDS[open], doubt(record, FIELDS[open], zone, "both readings fit")));
                }
            }
        }
    };
    let submit_ms = submit.ok_or_else(|| refuse("Submit", "the record has no submit time".to_owned()))?;
    if start_ms.zip(end_ms).is_some_and(|(start, end)| end < start) {
        return Err(refuse("End", "the job ends before it starts".to_owned()));
    }
    Ok(Times { submit_ms, eligible_ms, start_ms, end_ms, ignored })
}

/// Whether a record in this state can carry an end. A resized job's earlier size ends as RESIZING.
fn has_ended(state: RunState) -> bool {
    state.is_terminal() || state == RunState::Resizing
}

fn doubt(record: &SacctRecord, field: &str, zone: Option<Tz>, why: &str) -> String {
    let time = record.get(&field.to_ascii_lowercase()).unwrap_or_default();
    let zone = zone.map_or("its zone", |z| z.name());
    format!("local time {time} is ambiguous in {zone} (clocks were put back) and {why}")
}

fn plain(moments: &[Moment; 4]) -> Instants {
    moments.map(|m| match m {
        Moment::Absent => None,
        Moment::At(ms) | Moment::Twice(ms, _) => Some(ms),
    })
}

/// Every choice of readings that agrees with submit <= start <= end, submit <= eligible <= start and the elapsed time.
fn consistent(moments: &[Moment; 4], record: &SacctRecord) -> Vec<Instants> {
    let mut choices: Vec<Instants> = vec![[None; 4]];
    for (at, m) in moments.iter().enumerate() {
        let readings: &[Option<i64>] = match *m {
            Moment::Absent => &[None],
            Moment::At(ms) => &[Some(ms)],
            Moment::Twice(earlier, later) => &[Some(earlier), Some(later)],
        };
        choices = choices
            .iter()
            .flat_map(|c| {
                readings.iter().map(move |r| {
                    let mut c = *c;
                    c[at] = *r;
                    c
                })
            })
            .collect();
    }
    let elapsed = elapsed_ms(record);
    let suspended = record.get("suspended").and_then(|t| span(t).ok()?.ms()).unwrap_or(0);
    choices.retain(|[submit, eligible, start, end]| {
        let in_order = |a: &Option<i64>, b: &Option<i64>| a.zip(*b).is_none_or(|(a, b)| a <= b);
        let ran = end.zip(*start).map(|(end, start)| end - start);
        // Slurm takes suspended time off the elapsed time.
        let lasted = ran.zip(elapsed).is_none_or(|(ran, e)| ran == e || ran == e + suspended);
        in_order(submit, start)
            && in_order(start, end)
            && in_order(submit, eligible)
            && in_order(eligible, start)
            && lasted
    });
    choices
}
