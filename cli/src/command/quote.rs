//! `rates quote`: what was typed, checked and handed to the builder.

use chrono::NaiveDateTime;
use chrono_tz::Tz;
use gpuledger_aggregator::report::{self, Format, MemoryAsked, QuoteAsked};
use gpuledger_schema::state::TaskType;
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};
use gpuledger_schema::window::{self, Window};

use super::show;
use crate::args::{Memory, Quote};
use crate::outcome::{Outcome, usage};
use crate::place::Place;

/// Longest time that is quoted: a year and a month.
const DAYS_MAX: i64 = 400;
/// Most parameters of a model.
const PARAMS_MAX: i64 = 1_000_000_000_000_000;

pub(super) async fn run(place: &Place, asked: &Quote, format: Format) -> anyhow::Result<Outcome> {
    let zone = place.zone_needed(asked.zone.as_deref())?;
    if asked.gpus == 0 {
        return Err(usage("--gpus is 1 or more"));
    }
    let from_ms = instant("--from", &asked.from, zone)?;
    let window = Window { from_ms, to_ms: from_ms + duration_ms(&asked.duration)? };
    let task_type: TaskType = asked.task_type.parse().map_err(|e| usage(format!("--task-type {e}")))?;
    let memory = memory(&asked.memory)?;
    let lake = place.lake()?;
    let currency = place.currency(&lake)?;
    let reader = place.reader(&lake).await?;
    let what = QuoteAsked {
        gpus: asked.gpus,
        model: asked.model.clone(),
        window,
        zone,
        team: asked.team.clone(),
        pool: asked.pool.clone(),
        cluster: asked.cluster.clone(),
        task_type: task_type.as_str().to_owned(),
        preemptible: asked.preemptible,
        currency,
    };
    let mut told = report::quote(&reader, &what).await?;
    if let Some(memory) = memory {
        told.notes.extend(report::memory(&reader, &memory, from_ms).await?);
    }
    show(&told, format)?;
    Ok(Outcome::Done)
}

/// A date, an instant with its offset, or a local time of the zone that exists there once.
pub(super) fn instant(option: &str, text: &str, zone: Tz) -> anyhow::Result<i64> {
    let local =
        ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"].iter().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok());
    let read = match local {
        Some(local) => window::local_to_ms(local, zone),
        None => window::instant(text, zone),
    };
    read.map_err(|e| usage(format!("{option}: {e}")))
}

/// `90m`, `12h`, `3d`, `1d12h` in milliseconds.
pub(super) fn duration_ms(text: &str) -> anyhow::Result<i64> {
    let bad =
        || usage(format!("--for `{text}` is not a time such as 90m, 12h, 3d or 1d12h, of at most {DAYS_MAX} days"));
    let (mut sum, mut digits) = (0_i64, String::new());
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            'm' => 60_000,
            'h' => HOUR_MS,
            'd' => DAY_MS,
            'w' => 7 * DAY_MS,
            _ => return Err(bad()),
        };
        let number: i64 = digits.parse().map_err(|_| bad())?;
        sum = number.checked_mul(unit).and_then(|ms| ms.checked_add(sum)).ok_or_else(bad)?;
        digits.clear();
    }
    if digits.is_empty() && (1..=DAYS_MAX * DAY_MS).contains(&sum) { Ok(sum) } else { Err(bad()) }
}

fn memory(asked: &Memory) -> anyhow::Result<Option<MemoryAsked>> {
    let Some(params) = &asked.params else { return Ok(None) };
    let weight_bits = match asked.precision.as_str() {
        "fp32" => 32,
        "bf16" | "fp16" => 16,
        "fp8" | "int8" => 8,
        "int4" => 4,
        other => return Err(usage(format!("--precision `{other}` is not one of: fp32, bf16, fp16, fp8, int8, int4"))),
    };
    if !["train", "finetune", "infer"].contains(&asked.task.as_str()) {
        return Err(usage(format!("--task `{}` is not one of: train, finetune, infer", asked.task)));
    }
    Ok(Some(MemoryAsked {
        params: parameters(params)?,
        weight_bits,
        task: asked.task.clone(),
        context: i64::from(asked.context),
        batch: i64::from(asked.batch),
    }))
}

/// `70b`, `1.5t`, `350m` or a whole number.
fn parameters(text: &str) -> anyhow::Result<i64> {
    let bad = || usage(format!("--params `{text}` is not a number of parameters such as 70b, 1.5t or 350m"));
    let lower = text.to_ascii_lowercase();
    let (number, zeros) = match lower.chars().last() {
        Some('k') => (&lower[..lower.len() - 1], 3),
        Some('m') => (&lower[..lower.len() - 1], 6),
        Some('b') => (&lower[..lower.len() - 1], 9),
        Some('t') => (&lower[..lower.len() - 1], 12),
        _ => (lower.as_str(), 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(part) || part.len() > zeros {
        return Err(bad());
    }
    let digits = format!("{whole}{part}{}", "0".repeat(zeros - part.len()));
    digits.parse().ok().filter(|n| (1..=PARAMS_MAX).contains(n)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_parameters_and_instants_are_read_exactly_or_refused() {
        for (text, ms) in [("90m", 5_400_000), ("3d", 3 * DAY_MS), ("1d12h", 36 * HOUR_MS), ("2w", 14 * DAY_MS)] {
            assert_eq!(duration_ms(text).unwrap(), ms);
        }
        for text in ["", "3", "d", "0h", "3y", "401d", "-1h", "99999999999999999999h"] {
            assert!(duration_ms(text).is_err(), "{text}");
        }
        for (text, n) in [("70b", 70_000_000_000), ("1.5T", 1_500_000_000_000), ("350m", 350_000_000), ("7", 7)] {
            assert_eq!(parameters(text).unwrap(), n);
        }
        for text in ["", "b", "1.5", "7e9", "-7b", "70 b", "2000t"] {
            assert!(parameters(text).is_err(), "{text}");
        }
        let zone = chrono_tz::Europe::Berlin;
        assert_eq!(
            instant("--from", "2026-10-02T18:00", zone).unwrap(),
            instant("--from", "2026-10-02T18:00:00+02:00", zone).unwrap()
        );
        assert!(instant("--from", "2026-10-25T02:30", zone).is_err(), "twice");
        assert!(instant("--from", "2026-03-29T02:30", zone).is_err(), "never");
    }
}
