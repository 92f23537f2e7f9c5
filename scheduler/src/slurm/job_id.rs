//! Job ids: `123`, `123_4`, `123_[60-89,91-94]`, `500+1`, and steps such as `123_4.batch`.

use super::number;

/// Most tasks an array can have (Slurm's own bound is 4 000 001).
const TASKS_MAX: i64 = 10_000_000;

/// The tasks of an array that a record stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArrayPart {
    /// One task, by its index.
    Task(i64),
    /// Tasks that wait together in one record: how many.
    Waiting(i64),
}

/// A job id as Slurm shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobId {
    /// The leading number: the job, its array, or the leader of its het job.
    pub job: i64,
    /// Its part of an array.
    pub array: Option<ArrayPart>,
    /// Its offset in a het job.
    pub het_offset: Option<i64>,
    /// The step, e.g. `batch` or `0`.
    pub step: Option<String>,
}

/// Not a job id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no job id")]
pub struct JobIdError(String);

impl JobId {
    /// The raw id that follows from the form alone, for records without `JobIDRaw`: an array's task has an id of its
    /// own that the form does not tell, so the form itself stands for it; a het component's is leader plus offset.
    pub fn raw(&self) -> String {
        match (&self.array, self.het_offset) {
            (Some(ArrayPart::Task(task)), None) => format!("{}_{task}", self.job),
            (Some(ArrayPart::Task(task)), Some(offset)) => format!("{}_{task}+{offset}", self.job),
            (_, Some(offset)) => self.job.saturating_add(offset).to_string(),
            _ => self.job.to_string(),
        }
    }
}

/// Reads a job id.
pub fn job_id(text: &str) -> Result<JobId, JobIdError> {
    let text = text.trim();
    parse(text).ok_or_else(|| JobIdError(text.to_owned()))
}

/// Counts the tasks of `60-89,91-94%10` (a throttle after `%`, a stride after `:`); absent if it is no such list.
pub fn waiting_tasks(list: &str) -> Option<i64> {
    let ranges = match list.split_once('%') {
        Some((ranges, throttle)) => {
            number::count(throttle)?;
            ranges
        }
        None => list,
    };
    let mut tasks = 0i64;
    for range in ranges.split(',') {
        let (range, stride) = match range.split_once(':') {
            Some((range, stride)) => (range, number::count(stride).filter(|s| *s > 0)?),
            None => (range, 1),
        };
        let (lo, hi) = range.split_once('-').unwrap_or((range, range));
        let (lo, hi) = (number::count(lo)?, number::count(hi)?);
        if lo > hi {
            return None;
        }
        tasks = tasks.checked_add((hi - lo) / stride + 1).filter(|n| *n <= TASKS_MAX)?;
    }
    Some(tasks)
}

fn parse(text: &str) -> Option<JobId> {
    let (id, step) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some((id, step)) => (id, Some(step.to_owned())),
        None => (text, None),
    };
    let (id, het_offset) = match id.split_once('+') {
        Some((id, offset)) => (id, Some(number::count(offset)?)),
        None => (id, None),
    };
    let (job, array) = match id.split_once('_') {
        None => (id, None),
        Some((job, part)) => match part.strip_prefix('[').and_then(|p| p.strip_suffix(']')) {
            Some(list) => (job, Some(ArrayPart::Waiting(waiting_tasks(list)?))),
            None => (job, Some(ArrayPart::Task(number::count(part)?))),
        },
    };
    let job = number::count(job).filter(|n| *n > 0)?;
    Some(JobId { job, array, het_offset, step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_id() {
        for (text, job, array, het, step, raw) in [
            ("123", 123, None, None, None, "123"),
            ("123_4", 123, Some(ArrayPart::Task(4)), None, None, "123_4"),
            ("123_[60-89,91-94,96-98]", 123, Some(ArrayPart::Waiting(37)), None, None, "123"),
            ("123_[7-8%1]", 123, Some(ArrayPart::Waiting(2)), None, None, "123"),
            ("123_[0-100:10]", 123, Some(ArrayPart::Waiting(11)), None, None, "123"),
            ("500+0", 500, None, Some(0), None, "500"),
            ("500+1", 500, None, Some(1), None, "501"),
            ("123_4+1", 123, Some(ArrayPart::Task(4)), Some(1), None, "123_4+1"),
            ("123.batch", 123, None, None, Some("batch"), "123"),
            ("123_4.extern", 123, Some(ArrayPart::Task(4)), None, Some("extern"), "123_4"),
            ("500+1.0", 500, None, Some(1), Some("0"), "501"),
            ("123.0+1", 123, None, None, Some("0+1"), "123"),
            ("123.interactive", 123, None, None, Some("interactive"), "123"),
        ] {
            let id = job_id(text).unwrap();
            let expected = JobId { job, array, het_offset: het, step: step.map(str::to_owned) };
            assert_eq!((id.clone(), id.raw().as_str()), (expected, raw), "{text}");
        }
    }

    #[test]
    fn what_is_no_id() {
        for bad in [
            "",
            "abc",
            "JobID",
            "0",
            "-1",
            "123_",
            "123_[1-",
            "123_[]",
            "123_[1-3,...]",
            "123_[8-7]",
            "123_x",
            "123+",
            "123.",
            "1 2",
            "123_[0-99999999999]",
            "123_[1:0]",
            "99999999999999999999",
        ] {
            assert!(job_id(bad).is_err(), "{bad}");
        }
    }
}
