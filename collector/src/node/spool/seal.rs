//! From ticks to segments. Pure: the same ticks give the same bytes under the same names, whenever it is done.

use gpuledger_schema::table::{DeviceRow, ReadingRow, Row};

use super::tick::Tick;
use crate::segment::{Segment, SegmentError, pair, segment};

/// The segments of some ticks, in the order in which they may be put into an inbox: devices before their minutes, the
/// process file before the device file that names it. The device file is the last, so that what is left of a delivery
/// that was cut short always holds the proof of its ticks.
pub(super) fn segments(node: &str, ticks: &[Tick]) -> Result<Vec<Segment>, SegmentError> {
    let minutes: Vec<_> = ticks.iter().flat_map(|t| t.minutes.iter().cloned()).collect();
    let processes: Vec<_> = ticks.iter().flat_map(|t| t.processes.iter().cloned()).collect();

    let mut out = Vec::new();
    out.extend(segment(node, &once(ticks.iter().flat_map(|t| t.devices.iter().cloned()), device_order))?);
    out.extend(segment(node, &once(ticks.iter().flat_map(|t| t.readings.iter().cloned()), reading_order))?);
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

fn device_order(row: &DeviceRow) -> (i64, i64) {
    (row.device_id, row.first_seen_ms)
}

fn reading_order(row: &ReadingRow) -> (i64, i64) {
    (row.read_at_ms, row.from_ms)
}
