//! What a table of settings says, laid over what holds otherwise.

use chrono::Weekday;
use chrono_tz::Tz;
use gpuledger_schema::reclaim::{ActKind, Approval};
use serde::Deserialize;

use super::super::hours::minute_of_day;
use super::super::{Checkpoint, HOUR_MS, Hours, MINUTE_MS, Settings, Windows};
use super::PERCENT_PPM;

/// Settings as written. What is left out stays as it was.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Part {
    never_touched: Option<WindowsPart>,
    idle: Option<WindowsPart>,
    over_limit: Option<WindowsPart>,
    capacity: Option<WindowsPart>,
    low_use_percent: Option<i64>,
    active_minutes: Option<i64>,
    active_seconds: Option<i64>,
    warm_up_minutes: Option<i64>,
    staging_grace_minutes: Option<i64>,
    max_duration_hours: Option<i64>,
    approval: Option<Approval>,
    act_on_over_limit: Option<bool>,
    slurm: Option<ActKind>,
    kubernetes: Option<ActKind>,
    checkpoint: Option<CheckpointPart>,
    resume_nice: Option<i64>,
    keep_max_hours: Option<i64>,
    review_days: Option<i64>,
    work_hours: Option<HoursPart>,
    attempts_max: Option<i64>,
    retry_minutes: Option<i64>,
    retry_seconds: Option<i64>,
    confirm_minutes: Option<i64>,
    confirm_seconds: Option<i64>,
    free_memory_percent: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WindowsPart {
    warned_minutes: Option<i64>,
    final_minutes: Option<i64>,
    due_minutes: Option<i64>,
    warned_seconds: Option<i64>,
    final_seconds: Option<i64>,
    due_seconds: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointPart {
    signal: String,
    #[serde(default)]
    to_batch: bool,
    wait_minutes: Option<i64>,
    wait_seconds: Option<i64>,
    #[serde(default = "yes")]
    required: bool,
    file: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HoursPart {
    zone: String,
    days: Vec<String>,
    from: String,
    to: String,
}

fn yes() -> bool {
    true
}

/// A span given in minutes or in seconds, and not in both.
fn span(name: &str, minutes: Option<i64>, seconds: Option<i64>) -> Result<Option<i64>, String> {
    let ms = match (minutes, seconds) {
        (Some(_), Some(_)) => return Err(format!("`{name}` stands there in minutes and in seconds")),
        (Some(minutes), None) => minutes.checked_mul(MINUTE_MS),
        (None, Some(seconds)) => seconds.checked_mul(1_000),
        (None, None) => return Ok(None),
    };
    ms.filter(|ms| *ms >= 0).map(Some).ok_or_else(|| format!("`{name}` is no span of time"))
}

fn times(name: &str, value: Option<i64>, unit_ms: i64, least: i64) -> Result<Option<i64>, String> {
    match value {
        Some(n) if n < least => Err(format!("`{name}` is {n}, at least {least}")),
        Some(n) => n.checked_mul(unit_ms).map(Some).ok_or_else(|| format!("`{name}` is too large")),
        None => Ok(None),
    }
}

fn percent(name: &str, value: Option<i64>) -> Result<Option<i64>, String> {
    match value {
        Some(n) if !(0..=100).contains(&n) => Err(format!("`{name}` is {n}, not from 0 to 100")),
        other => Ok(other.map(|n| n * PERCENT_PPM)),
    }
}

impl WindowsPart {
    fn over(&self, name: &str, under: Windows) -> Result<Windows, String> {
        let one = |key: &str, minutes, seconds| span(&format!("{name}.{key}"), minutes, seconds);
        let made = Windows {
            warned_ms: one("warned", self.warned_minutes, self.warned_seconds)?.unwrap_or(under.warned_ms),
            final_ms: one("final", self.final_minutes, self.final_seconds)?.unwrap_or(under.final_ms),
            due_ms: one("due", self.due_minutes, self.due_seconds)?.unwrap_or(under.due_ms),
        };
        if made.warned_ms < made.final_ms && made.final_ms < made.due_ms {
            Ok(made)
        } else {
            Err(format!("`{name}`: the first warning comes before the last, and that before it is due"))
        }
    }
}

impl Part {
    /// These settings over others.
    pub(super) fn over(&self, under: &Settings) -> Result<Settings, String> {
        let mut s = under.clone();
        self.windows(&mut s)?;
        self.spans(&mut s)?;
        self.acts(&mut s)?;
        if let Some(part) = &self.checkpoint {
            s.checkpoint = Some(checkpoint(part)?);
        }
        if let Some(part) = &self.work_hours {
            s.hours = Some(hours(part)?);
        }
        Ok(s)
    }

    fn windows(&self, s: &mut Settings) -> Result<(), String> {
        let lay = |name: &str, part: &Option<WindowsPart>, under: &mut Windows| -> Result<(), String> {
            if let Some(part) = part {
                *under = part.over(name, *under)?;
            }
            Ok(())
        };
        lay("never_touched", &self.never_touched, &mut s.never_touched)?;
        lay("idle", &self.idle, &mut s.idle)?;
        lay("over_limit", &self.over_limit, &mut s.over_limit)?;
        lay("capacity", &self.capacity, &mut s.capacity)
    }

    fn spans(&self, s: &mut Settings) -> Result<(), String> {
        let set = |to: &mut i64, found: Option<i64>| {
            if let Some(value) = found {
                *to = value;
            }
        };
        set(&mut s.low_use_ppm, percent("low_use_percent", self.low_use_percent)?);
        set(&mut s.free_memory_ppm, percent("free_memory_percent", self.free_memory_percent)?);
        set(&mut s.active_ms, span("active", self.active_minutes, self.active_seconds)?);
        set(&mut s.retry_ms, span("retry", self.retry_minutes, self.retry_seconds)?);
        set(&mut s.confirm_ms, span("confirm", self.confirm_minutes, self.confirm_seconds)?);
        set(&mut s.warm_up_ms, times("warm_up_minutes", self.warm_up_minutes, MINUTE_MS, 0)?);
        set(&mut s.staging_ms, times("staging_grace_minutes", self.staging_grace_minutes, MINUTE_MS, 0)?);
        set(&mut s.keep_max_ms, times("keep_max_hours", self.keep_max_hours, HOUR_MS, 1)?);
        set(&mut s.review_ms, times("review_days", self.review_days, 24 * HOUR_MS, 1)?);
        set(&mut s.attempts_max, times("attempts_max", self.attempts_max, 1, 1)?);
        if let Some(ms) = times("max_duration_hours", self.max_duration_hours, HOUR_MS, 1)? {
            s.max_duration_ms = Some(ms);
        }
        if s.active_ms == 0 {
            return Err("`active` is 0: a moment of work would end every case".to_owned());
        }
        Ok(())
    }

    fn acts(&self, s: &mut Settings) -> Result<(), String> {
        s.approval = self.approval.unwrap_or(s.approval);
        s.act_on_over_limit = self.act_on_over_limit.unwrap_or(s.act_on_over_limit);
        s.resume_nice = self.resume_nice.or(s.resume_nice);
        match self.slurm {
            Some(act @ (ActKind::Requeue | ActKind::Cancel)) => s.slurm = act,
            Some(other) => return Err(format!("Slurm cannot be asked to `{other}`: requeue or cancel")),
            None => {}
        }
        match self.kubernetes {
            Some(act @ (ActKind::Evict | ActKind::SuspendOwner | ActKind::ScaleOwner)) => s.kubernetes = act,
            Some(other) => {
                return Err(format!("Kubernetes cannot be asked to `{other}`: evict, suspend_owner or scale_owner"));
            }
            None => {}
        }
        Ok(())
    }
}

fn checkpoint(part: &CheckpointPart) -> Result<Checkpoint, String> {
    let plain = !part.signal.is_empty() && part.signal.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if !plain || ["KILL", "STOP", "TERM", "9"].contains(&part.signal.as_str()) {
        return Err(format!("`{}` is no signal that asks for a checkpoint, e.g. USR1", part.signal));
    }
    let wait = span("checkpoint.wait", part.wait_minutes, part.wait_seconds)?.unwrap_or(10 * MINUTE_MS);
    if let Some(file) = &part.file
        && (!file.starts_with('/') || file.split('/').any(|p| p == ".."))
    {
        return Err(format!("`{file}` is no whole path of a file"));
    }
    Ok(Checkpoint {
        signal: part.signal.clone(),
        to_batch: part.to_batch,
        wait_ms: wait,
        required: part.required,
        file: part.file.clone(),
    })
}

fn hours(part: &HoursPart) -> Result<Hours, String> {
    let zone: Tz = part.zone.parse().map_err(|_| format!("unknown zone `{}`", part.zone))?;
    let day = |d: &String| d.parse::<Weekday>().map_err(|_| format!("`{d}` is no day of the week"));
    let days = part.days.iter().map(day).collect::<Result<Vec<_>, _>>()?;
    let minute = |t: &str| minute_of_day(t).ok_or_else(|| format!("`{t}` is no time of the form 09:30"));
    let (from_minute, to_minute) = (minute(&part.from)?, minute(&part.to)?);
    if days.is_empty() || from_minute >= to_minute {
        return Err("`work_hours` has no time in it".to_owned());
    }
    Ok(Hours { zone, days, from_minute, to_minute })
}
