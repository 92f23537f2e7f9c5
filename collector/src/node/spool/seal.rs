//! From ticks to segments. Pure: the same ticks give the same bytes under the same names, whenever it is done.

use gpuledger_schema::table::{DeviceClaimRow, DeviceRow, ReadingRow, Row};

use super::tick::Tick;
use crate::segment::{Segment, SegmentError, pair, segment};

/// Ends and starts of adjoining ticks differ by what the wall clock was adjusted in between.
const ADJOIN_MS: i64 = 1_000;

/// The segments of some ticks, in the order in which they may be put into an inbox: devices before their minutes, the
/// process file before the device file that names it. The device file is the last, so that what is left of a delivery
/// that was cut short always holds the proof of its ticks.
pub(super) fn segments(node: &str, ticks: &[Tick]) -> Result<Vec<Segment>, SegmentError> {
    let minutes: Vec<_> = ticks.iter().flat_map(|t| t.minutes.iter().cloned()).collect();
    let processes: Vec<_> = ticks.iter().flat_map(|t| t.processes.iter().cloned()).collect();

    let mut out = Vec::new();
    out.extend(segment(node, &once(ticks.iter().flat_map(|t| t.devices.iter().cloned()), device_order))?);
    out.extend(segment(node, &once(ticks.iter().flat_map(|t| t.claims.iter().cloned()), claim_order))?);
    out.extend(segment(node, &joined(once(ticks.iter().flat_map(|t| t.readings.iter().cloned()), reading_order)))?);
    out.extend(pair(node, &processes, &minutes)?);
    Ok(out)
}

/// Rows in order, each once: a device that did not change and a gap that was noted before a crash come again.
fn once<R: Row + PartialEq, K: Ord>(rows: impl Iterator<Item = R>, order: fn(&R) -> K) -> Vec<R> {
    let mut rows: Vec<R> = rows.collect();
    rows.sort_by_cached_key(|r| (order(r), r.content()));
    rows.dedup();
    rows
}

/// Looks of the same kind that adjoin are one look: a row a segment, not a row a minute.
fn joined(readings: Vec<ReadingRow>) -> Vec<ReadingRow> {
    let mut out: Vec<ReadingRow> = Vec::new();
    for row in readings {
        let kind = |r: &ReadingRow| {
            (r.ok, r.source.clone(), r.kind.clone(), r.cluster.clone(), r.node.clone(), r.error.clone())
        };
        let before = out
            .iter_mut()
            .find(|b| row.ok && kind(b) == kind(&row) && (0..=ADJOIN_MS).contains(&(row.from_ms - b.to_ms).abs()));
        match before {
            Some(before) => {
                before.to_ms = before.to_ms.max(row.to_ms);
                before.read_at_ms = before.read_at_ms.max(row.read_at_ms);
                before.rows += row.rows;
            }
            None => out.push(row),
        }
    }
    out
}

fn device_order(row: &DeviceRow) -> (i64, i64) {
    (row.device_id, row.first_seen_ms)
}

fn claim_order(row: &DeviceClaimRow) -> (i64, i64, i64) {
    (row.device_id, row.claim_id, row.as_of_ms)
}

fn reading_order(row: &ReadingRow) -> (i64, i64) {
    (row.read_at_ms, row.from_ms)
}
