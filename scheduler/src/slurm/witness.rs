//! `squeue -O` of fields that no user writes: which jobs there are, whose, in what state, with what.
//!
//! A user chooses a job's name and comment, line breaks among them, and could write whole records of `scontrol show job`
//! with them. What `squeue` prints of these fields no user can write, so that a record is believed only where it agrees.

use std::collections::HashMap;

use gpuledger_schema::state::RunState;

use super::problem::{Problem, Read};
use super::state::state;
use super::time::{Moment, moment};
use super::{is_blank, number};

/// What `squeue` is asked for with `-O`: fields with widths that nothing of them fills. Values are apart by blanks.
pub const FORMAT: &str = "JobID:24,State:24,UserID:24,SubmitTime:40,StartTime:40,tres-alloc:512";

/// A job, as told by the controller alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// State.
    pub state: RunState,
    /// Number of its user.
    pub uid: i64,
    /// Submit instant.
    pub submit_ms: i64,
    /// Start; of a job that waits, the plan.
    pub start_ms: Option<i64>,
    /// Resources as written; of a job that waits, what it asked for.
    pub tres: String,
}

/// Reads the lines by raw job id. Times are epoch seconds.
pub fn read(text: &str) -> (HashMap<String, Seen>, Vec<Problem>) {
    let mut out: Read<(String, Seen)> = Read::default();
    for (number, line) in (1i64..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
        match seen(line) {
            Ok(fact) => out.facts.push(fact),
            Err((field, reason)) => out.problems.push(Problem::of_field(number, field, reason, line)),
        }
    }
    (out.facts.into_iter().collect(), out.problems)
}

fn seen(line: &str) -> Result<(String, Seen), (&'static str, String)> {
    let mut words = line.split_whitespace();
    let mut next = |field: &'static str| words.next().ok_or((field, "the line ends before it".to_owned()));
    let id = next("JobID")?;
    if number::count(id).is_none() {
        return Err(("JobID", format!("`{id}` is no job id")));
    }
    let word = next("State")?;
    let state = state(word).map_err(|e| ("State", e.to_string()))?;
    let uid = next("UserID")?;
    let uid = number::count(uid).ok_or(("UserID", format!("`{uid}` is no number")))?;
    let submit_ms = instant("SubmitTime", next("SubmitTime")?)?.ok_or(("SubmitTime", "it is absent".to_owned()))?;
    let start_ms = instant("StartTime", next("StartTime")?)?;
    let tres = words.next().filter(|t| !is_blank(t)).unwrap_or_default().to_owned();
    Ok((id.to_owned(), Seen { state, uid, submit_ms, start_ms, tres }))
}

fn instant(field: &'static str, text: &str) -> Result<Option<i64>, (&'static str, String)> {
    match moment(text, None).map_err(|e| (field, e.to_string()))? {
        Moment::At(ms) => Ok(Some(ms)),
        Moment::Absent => Ok(None),
        Moment::Twice(..) => Err((field, "the local time is ambiguous".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_bad_ones_told() {
        let text = "9     RUNNING  0  1795998468  1795998569  cpu=1,node=1,billing=1,gres/gpu=1\n\
                    8     PENDING  0  1795998488  N/A         cpu=1,gres/gpu=1\n\
                    7     DREAMING 0  1795998488  N/A         \n\
                    6     RUNNING  ann 1795998488 N/A\n";
        let (seen, problems) = read(text);
        assert_eq!((seen["9"].state, seen["9"].uid), (RunState::Running, 0));
        assert_eq!((seen["9"].submit_ms, seen["9"].start_ms), (1_795_998_468_000, Some(1_795_998_569_000)));
        assert_eq!((seen["8"].start_ms, seen["8"].tres.as_str()), (None, "cpu=1,gres/gpu=1"));
        let fields: Vec<_> = problems.iter().map(|p| (p.line.unwrap(), p.field.as_deref().unwrap())).collect();
        assert_eq!(fields, [(3, "State"), (4, "UserID")]);
    }
}
