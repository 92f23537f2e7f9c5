//! Series of quota, held and queued GPUs by team and pool: each row becomes a point of `queue_minute`.
//!
//! A row stands until the next one of its team and pool, and no longer than the map's `step_s` or the as-of: so a file
//! that keeps only the changes is read as it is meant, and a series with holes leaves them unknown.

use std::collections::HashMap;

use chrono_tz::Tz;
use csv::StringRecord;
use gpuledger_schema::table::{QueueMinuteRow, ReadingRow};
use gpuledger_schema::window::show_ms;

use super::jobs::{Fault, JobsError, Layout, Values, layout};
use super::map::{Count, Text};
use super::records::{Record, Records, refuse_cut};
use super::{At, Imported};
use crate::input::Input;

mod map;

pub use map::SeriesMap;

/// What the look at a file of a series is called in `reading`: it speaks of no run and no device.
const READING_KIND: &str = "series";

/// How to read series.
#[derive(Debug, Clone)]
pub struct SeriesOptions {
    /// Cluster they are imported for.
    pub cluster: String,
    /// What their columns mean.
    pub map: SeriesMap,
    /// Zone of local times, where the map names none.
    pub zone: Option<Tz>,
    /// Until when the last rows stand, in epoch milliseconds; absent: each file's greatest instant.
    pub as_of_ms: Option<i64>,
}

/// A point, the line it stands on, and its text.
type Point<'a> = (i64, &'a [u8], QueueMinuteRow);

/// Reads files of a series.
///
/// # Errors
/// No header, a column that the map names and the file lacks or has twice, local times without a zone or with two.
pub fn import(inputs: &[Input], options: &SeriesOptions) -> Result<Imported, JobsError> {
    let zone = match (options.map.zone, options.zone) {
        (Some(map), Some(given)) if map != given => return Err(JobsError::TwoZones { map, given }),
        (map, given) => map.or(given),
    };
    if zone.is_none() && options.map.is_local() {
        return Err(JobsError::NoZone { key: "time.at" });
    }
    let mut importer = Importer { options, zone, out: Imported::default(), seen: HashMap::new() };
    for input in inputs {
        importer.file(input)?;
    }
    Ok(importer.out)
}

/// An import under way.
struct Importer<'a> {
    options: &'a SeriesOptions,
    zone: Option<Tz>,
    out: Imported,
    /// Where in the output the point of a team, pool and instant stands, and where it was read.
    seen: HashMap<(String, String, i64), (usize, String)>,
}

impl Importer<'_> {
    fn file(&mut self, input: &Input) -> Result<(), JobsError> {
        let map = &self.options.map;
        let mut records = Records::new(input.trusted().0, map.delimiter, map.columns.as_ref().map(Vec::len));
        let layout = layout(map.columns.as_deref(), map.named_columns(), input, &mut records)?;
        let mut good: Vec<Point<'_>> = Vec::new();
        for record in records {
            self.out.records += 1;
            match self.point(&record, &layout) {
                Ok(row) => good.push((record.line, record.raw, row)),
                Err(fault) => self.refuse(input, record.line, record.raw, &fault),
            }
        }
        refuse_cut(&mut self.out, input, &self.options.cluster);
        let greatest = good.iter().map(|(_, _, row)| row.at_ms).max();
        match self.options.as_of_ms.or(greatest) {
            Some(as_of_ms) => self.take(input, good, as_of_ms),
            None => {
                let at = At { source: &input.name, line: None, cluster: Some(&self.options.cluster) };
                self.out.refuse(&at, None, "no record in it could be used", "");
            }
        }
        Ok(())
    }

    fn point(&self, record: &Record<'_>, layout: &Layout) -> Result<QueueMinuteRow, Fault> {
        if let Some(problem) = &record.problem {
            return Err(Fault { field: None, reason: problem.clone() });
        }
        let map = &self.options.map;
        let text = StringRecord::from_byte_record(record.fields.clone())
            .map_err(|_| Fault { field: None, reason: "bytes that are no UTF-8".to_owned() })?;
        let values = Values {
            absent: &map.absent,
            origin_ms: map.origin_ms,
            columns: &layout.columns,
            zone: self.zone,
            record: &text,
        };
        let v = &map.values;
        let at_ms = values.instant(&map.at)?.ok_or_else(|| Fault { field: None, reason: "no instant".to_owned() })?;
        Ok(QueueMinuteRow {
            cluster: self.options.cluster.clone(),
            team: named(&values, v.team.as_ref())?,
            pool: named(&values, v.pool.as_ref())?,
            at_ms,
            dur_ms: map.step_ms,
            quota_units: cards(&values, v.quota.as_ref())?,
            held_units: cards(&values, v.held.as_ref())?,
            queued_units: cards(&values, v.queued.as_ref())?,
            queued_jobs: values.count(v.queued_jobs.as_ref())?,
            source: map.source.clone(),
        })
    }

    /// Takes the good rows of a file in, and the look at the file itself.
    fn take(&mut self, input: &Input, good: Vec<Point<'_>>, as_of_ms: i64) {
        let (mut from_ms, mut rows) = (as_of_ms, 0);
        for (line, raw, row) in good {
            if row.at_ms > as_of_ms {
                let (late, as_of) = (show_ms(row.at_ms, Tz::UTC), show_ms(as_of_ms, Tz::UTC));
                let reason = format!("{late} is after the as-of {as_of}, at which nothing of it could be known");
                self.refuse(input, line, raw, &Fault { field: None, reason });
                continue;
            }
            let key = (row.team.clone(), row.pool.clone(), row.at_ms);
            match self.seen.get(&key) {
                Some((at, place)) if self.out.queue_minutes[*at] != row => {
                    let reason = format!("differs from {place}, which has the same team, pool and instant");
                    self.refuse(input, line, raw, &Fault { field: None, reason });
                    continue;
                }
                Some(_) => {}
                None => {
                    self.seen.insert(key, (self.out.queue_minutes.len(), format!("line {line} of {}", input.name)));
                    from_ms = from_ms.min(row.at_ms);
                    self.out.queue_minutes.push(row);
                }
            }
            rows += 1;
        }
        self.out.readings.push(ReadingRow {
            source: input.name.clone(),
            kind: READING_KIND.to_owned(),
            cluster: self.options.cluster.clone(),
            node: None,
            read_at_ms: as_of_ms,
            from_ms,
            to_ms: as_of_ms,
            ok: input.problem.is_none(),
            rows,
            error: input.problem.clone(),
        });
    }

    fn refuse(&mut self, input: &Input, line: i64, raw: &[u8], fault: &Fault) {
        let at = At { source: &input.name, line: Some(line), cluster: Some(&self.options.cluster) };
        self.out.refuse(&at, fault.field.as_deref(), &fault.reason, &String::from_utf8_lossy(raw));
    }
}

/// A team or pool: empty where the map has none, refused where its column holds none.
fn named(values: &Values<'_>, text: Option<&Text>) -> Result<String, Fault> {
    let Some(text) = text else { return Ok(String::new()) };
    values.text(Some(text)).ok_or_else(|| Fault::new(text.column().unwrap_or_default(), "no name"))
}

/// GPUs in share units; absent where the map or the field has none.
fn cards(values: &Values<'_>, count: Option<&Count>) -> Result<Option<i64>, Fault> {
    let Some(count) = count else { return Ok(None) };
    let Some(number) = values.number(count)? else { return Ok(None) };
    match number.cards(count.of) {
        Some((units, true)) => Ok(Some(units)),
        _ => Err(Fault::new(count.value.column().unwrap_or_default(), "a part of a GPU finer than can be counted")),
    }
}

#[cfg(test)]
mod tests;
