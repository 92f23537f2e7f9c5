//! `sacct --json` of the dialects that were seen, put into the fields of `sacct --parsable2`.
//!
//! Slurm names the plugin that wrote the document; a dialect that is not in [`DIALECTS`] is refused by that name,
//! because in another one the same key may mean something else.

use std::sync::Arc;

use serde_json::Value;

use super::duration::show_seconds;
use super::json_outline::{OutlineError, outline};
use super::problem::{Problem, Read};
use super::sacct_record::{Columns, SacctRecord};

/// Plugins whose documents are read: Slurm 22.05, 23.02, and 23.11 and 24.05 (like 23.02, the state as a list).
pub const DIALECTS: &[&str] =
    &["openapi/dbv0.0.38", "data_parser/v0.0.39", "data_parser/v0.0.40", "data_parser/v0.0.41"];

/// Why nothing in a document can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SacctJsonError {
    /// It does not say which plugin wrote it.
    #[error("the JSON does not say which Slurm plugin wrote it (meta.plugin)")]
    NoDialect,
    /// A plugin that is not known.
    #[error("the JSON was written by `{name}`, a dialect that is not known (known: {})", DIALECTS.join(", "))]
    Dialect {
        /// Its name.
        name: String,
    },
    /// No list of jobs.
    #[error("the JSON has no list `jobs`: {0}")]
    NoJobs(String),
}

/// The columns that every record gets.
const COLUMNS: &[&str] = &[
    "jobid",
    "jobidraw",
    "cluster",
    "user",
    "group",
    "account",
    "partition",
    "qos",
    "jobname",
    "state",
    "submit",
    "eligible",
    "start",
    "end",
    "elapsedraw",
    "suspended",
    "timelimitraw",
    "exitcode",
    "nodelist",
    "allocnodes",
    "alloctres",
    "reqtres",
    "reqcpus",
    "priority",
    "reservation",
    "comment",
];

/// Reads a document.
pub fn read(bytes: &[u8]) -> Result<Read<SacctRecord>, SacctJsonError> {
    let outline = outline(bytes, "jobs");
    let meta = outline.members.iter().find(|(key, _)| key == "meta");
    let meta: Value = match meta.map(|(_, at)| serde_json::from_slice(&bytes[at.clone()])) {
        Some(Ok(meta)) => meta,
        Some(Err(_)) | None => return Err(SacctJsonError::NoDialect),
    };
    let dialect = dialect(&meta).ok_or(SacctJsonError::NoDialect)?;
    // A plugin may carry flags, as in `data_parser/v0.0.41+fast`.
    if !DIALECTS.contains(&dialect.split('+').next().unwrap_or_default()) {
        return Err(SacctJsonError::Dialect { name: dialect.to_owned() });
    }
    let Some(jobs) = outline.elements else {
        let reason = outline.broken.map_or_else(|| "it is not there".to_owned(), |(e, _)| e.to_string());
        return Err(SacctJsonError::NoJobs(reason));
    };
    let columns = Arc::new(Columns::of(COLUMNS));
    let mut out = Read::default();
    let (mut line, mut counted) = (1i64, 0usize);
    let mut line_at = |at: usize| {
        line += bytes[counted..at].iter().filter(|b| **b == b'\n').count() as i64;
        counted = at;
        line
    };
    for at in jobs {
        let line = line_at(at.start);
        match record(&bytes[at.clone()], line, &columns) {
            Ok(record) => out.facts.push(record),
            Err(problem) => out.problems.push(problem),
        }
    }
    if let Some((error, at)) = outline.broken {
        let raw = if error == OutlineError::Cut { &bytes[at..] } else { &bytes[at..bytes.len().min(at + 4_000)] };
        out.problems.push(Problem::of_record(line_at(at), error, &String::from_utf8_lossy(raw)));
    }
    Ok(out)
}

/// The plugin that wrote the document; three places are in use.
fn dialect(meta: &Value) -> Option<&str> {
    ["/plugins/data_parser", "/plugin/data_parser", "/plugin/type"].iter().find_map(|at| meta.pointer(at)?.as_str())
}

/// A key that is missing or holds something else than it should.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` is missing or no {what}")]
struct Misfit {
    key: &'static str,
    what: &'static str,
}

fn record(bytes: &[u8], line: i64, columns: &Arc<Columns>) -> Result<SacctRecord, Problem> {
    let raw = String::from_utf8_lossy(bytes);
    let job: Value = match serde_json::from_slice(bytes) {
        Ok(job) => job,
        Err(e) => return Err(Problem::of_record(line, e, &raw)),
    };
    let values = values(&job).map_err(|e| Problem::of_field(line, e.key.trim_start_matches('/'), e, &raw))?;
    Ok(SacctRecord::of_values(line, columns, &values, &raw))
}

/// The values of a job in the order of [`COLUMNS`].
fn values(job: &Value) -> Result<Vec<String>, Misfit> {
    let optional = |key| text(job, key).unwrap_or_default();
    Ok(vec![
        shown_id(job)?,
        required(job, "/job_id")?.to_string(),
        optional("/cluster"),
        optional("/user"),
        optional("/group"),
        optional("/account"),
        optional("/partition"),
        optional("/qos"),
        optional("/name"),
        state(job)?,
        instant(job, "/time/submission")?,
        instant(job, "/time/eligible")?,
        instant(job, "/time/start")?,
        instant(job, "/time/end")?,
        shown(number(job, "/time/elapsed")?),
        number(job, "/time/suspended")?.map(show_seconds).unwrap_or_default(),
        limit(job)?,
        exit_code(job)?,
        text(job, "/nodes").ok_or(Misfit { key: "/nodes", what: "text" })?,
        shown(number(job, "/allocation_nodes")?),
        tres(job, "/tres/allocated")?,
        tres(job, "/tres/requested")?,
        shown(number(job, "/required/CPUs")?),
        shown(number(job, "/priority")?),
        optional("/reservation/name"),
        optional("/comment/job"),
    ])
}

fn text(job: &Value, key: &str) -> Option<String> {
    match job.pointer(key)? {
        Value::String(s) => Some(s.clone()),
        Value::Null => Some(String::new()),
        _ => None,
    }
}

fn shown(number: Option<i64>) -> String {
    number.map(|n| n.to_string()).unwrap_or_default()
}

/// A number, plain or as `{set, infinite, number}`; absent if it is not there, null, not set or infinite.
fn number(job: &Value, key: &'static str) -> Result<Option<i64>, Misfit> {
    match job.pointer(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(parts)) => {
            let flag = |name: &str| parts.get(name).and_then(Value::as_bool).ok_or(Misfit { key, what: "number" });
            if !flag("set")? || flag("infinite")? {
                return Ok(None);
            }
            parts.get("number").and_then(Value::as_i64).map(Some).ok_or(Misfit { key, what: "number" })
        }
        Some(plain) => plain.as_i64().map(Some).ok_or(Misfit { key, what: "number" }),
    }
}

fn required(job: &Value, key: &'static str) -> Result<i64, Misfit> {
    number(job, key)?.ok_or(Misfit { key, what: "number" })
}

/// The id as `sacct` shows it in text.
fn shown_id(job: &Value) -> Result<String, Misfit> {
    let id = required(job, "/job_id")?;
    let array = number(job, "/array/job_id")?.filter(|n| *n != 0);
    let waiting = text(job, "/array/task").filter(|t| !t.is_empty());
    let het = number(job, "/het/job_id")?.filter(|n| *n != 0);
    let mut shown = match (array, number(job, "/array/task_id")?, waiting) {
        (Some(array), Some(task), _) => format!("{array}_{task}"),
        (Some(array), None, Some(list)) => format!("{array}_[{}]", list.trim_matches(['[', ']'])),
        _ => het.unwrap_or(id).to_string(),
    };
    if het.is_some()
        && let Some(offset) = number(job, "/het/job_offset")?
    {
        shown.push_str(&format!("+{offset}"));
    }
    Ok(shown)
}

/// The state: a word, or a list of a base state and its flags.
fn state(job: &Value) -> Result<String, Misfit> {
    let misfit = || Misfit { key: "/state/current", what: "state" };
    match job.pointer("/state/current").ok_or_else(misfit)? {
        Value::String(word) => Ok(word.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let words = words.ok_or_else(misfit)?;
            // An unknown word goes on as it is, to be refused with its name where states are read.
            Ok(super::state::with_flags(&words).map_or_else(|_| words.join("+"), |s| s.as_str().to_owned()))
        }
        _ => Err(misfit()),
    }
}

/// Epoch seconds, 0 meaning that it has not happened.
fn instant(job: &Value, key: &'static str) -> Result<String, Misfit> {
    if job.pointer(key).is_none() {
        return Err(Misfit { key, what: "number" });
    }
    Ok(number(job, key)?.filter(|n| *n != 0).map_or_else(|| "Unknown".to_owned(), |n| n.to_string()))
}

fn limit(job: &Value) -> Result<String, Misfit> {
    let infinite = job.pointer("/time/limit/infinite").and_then(Value::as_bool) == Some(true);
    if infinite { Ok("UNLIMITED".to_owned()) } else { number(job, "/time/limit").map(shown) }
}

fn exit_code(job: &Value) -> Result<String, Misfit> {
    let Some(code) = number(job, "/exit_code/return_code")? else { return Ok(String::new()) };
    let signal = match number(job, "/exit_code/signal/signal_id")? {
        None => number(job, "/exit_code/signal/id")?,
        signal => signal,
    };
    Ok(format!("{code}:{}", signal.unwrap_or(0)))
}

/// A list of TRES as a TRES string. Negative counts are Slurm's marks for "not known" and are left out, except of
/// GPUs, where they are refused as every count that is no number.
fn tres(job: &Value, key: &'static str) -> Result<String, Misfit> {
    let misfit = || Misfit { key, what: "list of TRES" };
    let list = job.pointer(key).and_then(Value::as_array).ok_or_else(misfit)?;
    let mut parts = Vec::with_capacity(list.len());
    for item in list {
        let kind = item.get("type").and_then(Value::as_str).ok_or_else(misfit)?;
        let name = item.get("name").and_then(Value::as_str).filter(|n| !n.is_empty());
        let count = item.get("count").and_then(Value::as_i64).ok_or_else(misfit)?;
        let is_gpu = kind == "gres" && name.is_some_and(|n| n == "gpu" || n.starts_with("gpu:"));
        if count < 0 && !is_gpu {
            continue;
        }
        let unit = if kind == "mem" { "M" } else { "" };
        let slash = name.map(|n| format!("/{n}")).unwrap_or_default();
        parts.push(format!("{kind}{slash}={count}{unit}"));
    }
    Ok(parts.join(","))
}

#[cfg(test)]
mod tests;
