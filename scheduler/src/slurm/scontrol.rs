//! `scontrol show`: records of `Key=value` pairs, on one line (`-o`) or on several.
//!
//! Users choose some of the values (job name, command, paths, comments). On several lines such a value is the rest of
//! its line. On one line it cannot be told where it ends, so there a key that stands twice refuses the record: a job
//! named `x StartTime=2020-01-01T00:00:00` must not change its own start.

use super::problem::Problem;

pub mod job;
pub mod node;
pub mod partition;

/// Keys whose value is the rest of the line, where the record has several.
const REST_OF_LINE: &[&str] = &[
    "JobName",
    "Comment",
    "AdminComment",
    "SystemComment",
    "Extra",
    "Command",
    "WorkDir",
    "StdErr",
    "StdIn",
    "StdOut",
    "SubmitLine",
];
/// Keys of the lines that tell what is held on which node; they repeat.
const REPEATING: &[&str] = &["Nodes", "CPU_IDs", "Mem", "GRES", "GRES_IDX"];

/// A record of `scontrol show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Line it starts on, from 1.
    pub(crate) line: i64,
    /// Its text.
    pub(crate) raw: &'a str,
    /// Its pairs, in order.
    pub(crate) pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Record<'a> {
    /// The value of a key; absent where Slurm says nothing.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        let value = self.pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        value.filter(|v| !super::is_blank(v))
    }

    /// A key that stands twice with different values.
    pub(crate) fn twice(&self) -> Option<&'a str> {
        self.pairs.iter().enumerate().find_map(|(at, (key, value))| {
            let is_other = |(k, v): &(&str, &str)| k == key && v != value;
            (!REPEATING.contains(key) && self.pairs[..at].iter().any(is_other)).then_some(*key)
        })
    }

    pub(crate) fn problem(&self, field: &str, reason: impl ToString) -> Problem {
        Problem::of_field(self.line, field, reason, self.raw)
    }
}

/// Splits a text at the lines that start with `first=`; what stands before the first of them is a problem.
pub(crate) fn records<'a>(text: &'a str, first: &str) -> (Vec<Record<'a>>, Vec<Problem>) {
    let mut records = Vec::new();
    let problems = each_record(text, first, |record| records.push(record));
    (records, problems)
}

/// As [`records`], one at a time: a large cluster has tens of megabytes of them.
pub(crate) fn each_record<'a>(text: &'a str, first: &str, mut take: impl FnMut(Record<'a>)) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut open: Option<(i64, usize)> = None;
    let (mut at, mut number) = (0usize, 1i64);
    for line in text.split_inclusive('\n') {
        let starts = line.strip_prefix(first).is_some_and(|rest| rest.starts_with('='));
        if starts {
            if let Some((line, from)) = open {
                take(record(line, &text[from..at]));
            }
            open = Some((number, at));
        } else if open.is_none() && !line.trim().is_empty() {
            let reason = format!("the line belongs to no record (none starts with {first}=)");
            problems.push(Problem::of_record(number, reason, line.trim_end()));
        }
        at += line.len();
        number += 1;
    }
    if let Some((line, from)) = open {
        take(record(line, &text[from..]));
    }
    problems
}

fn record(line: i64, raw: &str) -> Record<'_> {
    let raw = raw.trim_end();
    let is_several_lines = raw.contains('\n');
    let pairs = raw.lines().flat_map(|l| pairs(l.trim(), is_several_lines)).collect();
    Record { line, raw, pairs }
}

/// The pairs of one line.
pub(crate) fn pairs(line: &str, is_one_of_several: bool) -> Vec<(&str, &str)> {
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for word in line.split(' ') {
        if let Some(end) = key_end(word) {
            starts.push((at, at + end));
            if is_one_of_several && REST_OF_LINE.contains(&&word[..end]) {
                break;
            }
        }
        at += word.len() + 1;
    }
    let ends = starts.iter().skip(1).map(|(from, _)| *from).chain([line.len()]);
    starts.iter().zip(ends).map(|((from, eq), to)| (&line[*from..*eq], line[eq + 1..to].trim())).collect()
}

/// Where the `=` of a word stands, if what is before it looks like a key of Slurm's.
fn key_end(word: &str) -> Option<usize> {
    let (key, _) = word.split_once('=')?;
    let is_key = key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | ':'));
    is_key.then_some(key.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_users_choose_end_with_their_line() {
        let text = "JobId=7 JobName=x StartTime=2020-01-01T00:00:00\n   StartTime=2026-01-01T00:00:00 A/B=c d\n   Command=a.sh X=1\n";
        let (records, problems) = records(text, "JobId");
        assert_eq!(problems, []);
        assert_eq!(records[0].get("JobName"), Some("x StartTime=2020-01-01T00:00:00"));
        assert_eq!(records[0].get("StartTime"), Some("2026-01-01T00:00:00"));
        assert_eq!(records[0].get("A/B"), Some("c d"));
        assert_eq!(records[0].get("Command"), Some("a.sh X=1"));
        assert_eq!(records[0].twice(), None);
    }

    #[test]
    fn on_one_line_a_key_that_stands_twice_is_found() {
        let text = "junk\nJobId=7 JobName=x StartTime=1 StartTime=2 Command=python --lr=0.1\n\nJobId=8 A=(null)\n";
        let (records, problems) = records(text, "JobId");
        assert_eq!(problems[0].line, Some(1));
        assert_eq!((records[0].line, records[0].twice()), (2, Some("StartTime")));
        assert_eq!(records[0].get("Command"), Some("python --lr=0.1"));
        assert_eq!((records[1].line, records[1].get("A")), (4, None));
    }
}
