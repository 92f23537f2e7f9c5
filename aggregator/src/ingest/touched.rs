//! Which days of the ledger a batch changes.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use gpuledger_schema::table::Table;
use gpuledger_schema::window::day_of;

/// Days touched so far.
#[derive(Debug, Default)]
pub(super) struct Touched {
    days: BTreeSet<i32>,
    from: Option<i32>,
    runs_seen: BTreeSet<i64>,
}

/// A column as integers; absent values stay absent.
fn ints(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).and_then(|c| cast(c, &DataType::Int64).ok());
    let column = column.as_ref().and_then(|c| c.as_primitive_opt::<Int64Type>());
    column.map_or_else(
        || vec![None; batch.num_rows()],
        |c| (0..c.len()).map(|i| c.is_valid(i).then(|| c.value(i))).collect(),
    )
}

impl Touched {
    fn span(&mut self, from_ms: i64, to_ms: i64) {
        self.days.extend((day_of(from_ms) as i32)..=(day_of(to_ms.max(from_ms)) as i32));
    }

    fn from(&mut self, day: i32) {
        self.from = Some(self.from.map_or(day, |d| d.min(day)));
    }

    /// Notes the days that fresh rows of a table change; `before` is what the lake had to compare with.
    pub(super) fn note(&mut self, spec: &Table, fresh: &[RecordBatch], before: &[RecordBatch]) {
        match spec.name {
            "device_minute" | "process_minute" => self.minutes(fresh),
            "allocation" => self.runs(fresh, before),
            "allocation_device" | "job_average" => self.of_runs(fresh),
            "device" => self.open_ended(fresh, "first_seen_ms"),
            "node_state" | "device_claim" => self.open_ended(fresh, "from_ms"),
            "sample" if !fresh.is_empty() => self.from(i32::MIN),
            "reading" => self.readings(fresh, before),
            _ => {}
        }
    }

    /// A tick can be placed up to a day from where its wall clock put it.
    fn minutes(&mut self, fresh: &[RecordBatch]) {
        let days: BTreeSet<i64> = fresh.iter().flat_map(|b| ints(b, "day")).flatten().collect();
        self.days.extend(days.into_iter().flat_map(|d| (d as i32 - 1)..=(d as i32 + 1)));
    }

    /// From the least old or new start to the greatest old or new end.
    fn runs(&mut self, fresh: &[RecordBatch], before: &[RecordBatch]) {
        for batch in fresh {
            self.runs_seen.extend(ints(batch, "allocation_id").into_iter().flatten());
        }
        for batch in fresh.iter().chain(before) {
            let columns = ["allocation_id", "start_ms", "end_ms", "as_of_ms"].map(|c| ints(batch, c));
            for i in 0..batch.num_rows() {
                let (Some(id), Some(start)) = (columns[0][i], columns[1][i]) else { continue };
                if self.runs_seen.contains(&id) {
                    self.span(start, columns[2][i].or(columns[3][i]).unwrap_or(start));
                }
            }
        }
    }

    /// Facts of runs: those of runs in the same batch are noted with them, others may lie anywhere.
    fn of_runs(&mut self, fresh: &[RecordBatch]) {
        let elsewhere = fresh.iter().flat_map(|b| ints(b, "allocation_id")).flatten();
        if elsewhere.into_iter().any(|id| !self.runs_seen.contains(&id)) {
            self.from(i32::MIN);
        }
    }

    fn open_ended(&mut self, fresh: &[RecordBatch], column: &str) {
        if let Some(first) = fresh.iter().flat_map(|b| ints(b, column)).flatten().min() {
            self.from(day_of(first) as i32);
        }
    }

    /// An as-of that moves extends what is known from where it stood.
    fn readings(&mut self, fresh: &[RecordBatch], before: &[RecordBatch]) {
        let mut stood: BTreeMap<String, i64> = BTreeMap::new();
        let clusters = |b: &RecordBatch| -> Vec<String> {
            let column = b.column_by_name("cluster").and_then(|c| cast(c, &DataType::Utf8).ok());
            let text = column.as_ref().and_then(|c| c.as_string_opt::<i32>());
            text.map(|t| (0..t.len()).map(|i| t.value(i).to_owned()).collect()).unwrap_or_default()
        };
        for batch in before {
            for (cluster, to) in clusters(batch).into_iter().zip(ints(batch, "to_ms")) {
                let at = stood.entry(cluster).or_insert(i64::MIN);
                *at = (*at).max(to.unwrap_or(i64::MIN));
            }
        }
        for batch in fresh {
            let columns = ["from_ms", "to_ms"].map(|c| ints(batch, c));
            for (i, cluster) in clusters(batch).into_iter().enumerate() {
                let (Some(from), Some(to)) = (columns[0][i], columns[1][i]) else { continue };
                match stood.get(&cluster) {
                    Some(at) if *at >= to => {}
                    Some(at) => self.span(*at, to),
                    None => self.span(from, to),
                }
            }
        }
    }

    /// The days, and the day from which every one is touched.
    pub(super) fn into_days(self) -> (BTreeSet<i32>, Option<i32>) {
        (self.days, self.from)
    }
}
