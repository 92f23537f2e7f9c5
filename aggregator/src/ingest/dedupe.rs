//! What is new: rows whose key and content are there already are duplicates; a key with other content is a conflict.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::{cast, filter_record_batch};
use datafusion::arrow::datatypes::{Int32Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::logical_expr::{Expr, col, lit};
use foldhash::quality::RandomState;
use gpuledger_schema::table::Table;
use gpuledger_schema::window::day_of;

/// A row that contradicts one that is there.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) source: String,
    pub(super) raw: String,
}

/// The new rows of a table.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    pub(super) rows: Vec<RecordBatch>,
    pub(super) duplicates: u64,
    pub(super) conflicts: Vec<Conflict>,
}

/// Keys that are there, each as 128 bits of two hashes with seeds of their own, with a hash of the rest of their row:
/// what is compared is most of ingest, and the bytes themselves would be most of its memory.
pub(super) struct Known {
    rows: HashMap<u128, u64, RandomState>,
    seeds: [RandomState; 2],
}

/// Key and content of every row of a batch, as comparable bytes.
struct Rows {
    keys: datafusion::arrow::row::Rows,
    contents: datafusion::arrow::row::Rows,
}

/// Columns that say what a row is about; where it was read from does not (unless it is part of the key).
fn content_columns(spec: &Table) -> Vec<&'static str> {
    let names = (spec.columns)().into_iter().map(|c| c.name);
    names.filter(|n| !spec.key.contains(n) && *n != "source").collect()
}

fn rows_of(spec: &Table, batch: &RecordBatch, columns: &[&str]) -> Result<datafusion::arrow::row::Rows, ArrowError> {
    let schema = spec.schema();
    let arrays: Vec<ArrayRef> = columns
        .iter()
        .map(|name| {
            let wanted = schema.field_with_name(name)?.data_type().clone();
            let found = batch
                .column_by_name(name)
                .ok_or_else(|| ArrowError::SchemaError(format!("column `{name}` is missing")))?;
            cast(found, &wanted)
        })
        .collect::<Result<_, _>>()?;
    let fields = arrays.iter().map(|a| SortField::new(a.data_type().clone())).collect();
    RowConverter::new(fields)?.convert_columns(&arrays)
}

fn split(spec: &Table, batch: &RecordBatch) -> Result<Rows, ArrowError> {
    Ok(Rows { keys: rows_of(spec, batch, spec.key)?, contents: rows_of(spec, batch, &content_columns(spec))? })
}

impl Known {
    /// What is in the lake.
    pub(super) fn new(spec: &Table, before: &[RecordBatch]) -> Result<Self, ArrowError> {
        let mut known = Self {
            rows: HashMap::with_hasher(RandomState::default()),
            seeds: [RandomState::default(), RandomState::default()],
        };
        for batch in before {
            let rows = split(spec, batch)?;
            for i in 0..batch.num_rows() {
                let (key, content) = known.hashes(&rows, i);
                known.rows.insert(key, content);
            }
        }
        Ok(known)
    }

    fn key(&self, key: &[u8]) -> u128 {
        let [high, low] = self.seeds.each_ref().map(|seed| u128::from(seed.hash_one(key)));
        high << 64 | low
    }

    fn hashes(&self, rows: &Rows, i: usize) -> (u128, u64) {
        (self.key(rows.keys.row(i).data()), self.seeds[0].hash_one(rows.contents.row(i).data()))
    }

    /// Whether no key comes twice, neither in the new rows nor in what is there: contents need not be looked at then.
    fn all_new(&self, spec: &Table, batches: &[(String, RecordBatch)]) -> Result<bool, ArrowError> {
        if !self.rows.is_empty() {
            return Ok(false);
        }
        let rows = batches.iter().map(|(_, batch)| batch.num_rows()).sum();
        let mut seen = HashSet::with_capacity_and_hasher(rows, RandomState::default());
        for (_, batch) in batches {
            let keys = rows_of(spec, batch, spec.key)?;
            if !keys.iter().all(|key| seen.insert(self.key(key.data()))) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sorts new rows into fresh, duplicate and in conflict. Order of the segments: by their names.
    pub(super) fn fresh(mut self, spec: &Table, batches: Vec<(String, RecordBatch)>) -> Result<Fresh, ArrowError> {
        let mut out = Fresh::default();
        if self.all_new(spec, &batches)? {
            out.rows = batches.into_iter().map(|(_, batch)| batch).filter(|b| b.num_rows() > 0).collect();
            return Ok(out);
        }
        for (source, batch) in batches {
            let rows = split(spec, &batch)?;
            let mut keep = Vec::with_capacity(batch.num_rows());
            for i in 0..batch.num_rows() {
                let (key, content) = self.hashes(&rows, i);
                let new = match self.rows.entry(key) {
                    Entry::Vacant(e) => {
                        e.insert(content);
                        true
                    }
                    Entry::Occupied(e) if *e.get() == content => {
                        out.duplicates += 1;
                        false
                    }
                    Entry::Occupied(_) => {
                        out.conflicts.push(Conflict { source: source.clone(), raw: show(&batch, i)? });
                        false
                    }
                };
                keep.push(new);
            }
            let kept =
                if keep.iter().all(|k| *k) { batch } else { filter_record_batch(&batch, &BooleanArray::from(keep))? };
            if kept.num_rows() > 0 {
                out.rows.push(kept);
            }
        }
        Ok(out)
    }
}

/// A row as text, for the quarantine.
fn show(batch: &RecordBatch, row: usize) -> Result<String, ArrowError> {
    let options = FormatOptions::default().with_null("");
    let schema = batch.schema();
    let mut parts = Vec::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        parts.push(format!("{}={}", field.name(), ArrayFormatter::try_new(column, &options)?.value(row)));
    }
    Ok(parts.join(" "))
}

/// Numbers of ticks, the ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seqs {
    from: i64,
    to: i64,
}

impl Seqs {
    /// Whether a number may be in both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}

/// A boot of a node and a UTC day.
pub(super) type BootDay = (i64, i32);

/// The ticks of each boot and day in minute rows.
pub(super) fn boot_days<'a>(rows: impl Iterator<Item = &'a RecordBatch>) -> HashMap<BootDay, Seqs, RandomState> {
    let mut out: HashMap<BootDay, Seqs, RandomState> = HashMap::default();
    let mut note = |key: BootDay, seqs: Seqs| {
        let known = out.entry(key).or_insert(seqs);
        (known.from, known.to) = (known.from.min(seqs.from), known.to.max(seqs.to));
    };
    for batch in rows {
        let of = |name: &str| batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
        let days = batch.column_by_name("day").and_then(|c| c.as_primitive_opt::<Int32Type>());
        let (Some(boots), Some(seqs), Some(days)) = (of("boot_id"), of("seq"), days) else { continue };
        // rows of one boot and day stand together
        let mut run: Option<(BootDay, Seqs)> = None;
        for ((boot, day), seq) in boots.values().iter().zip(days.values()).zip(seqs.values()) {
            match &mut run {
                Some((key, seqs)) if *key == (*boot, *day) => {
                    (seqs.from, seqs.to) = (seqs.from.min(*seq), seqs.to.max(*seq));
                }
                _ => {
                    let before = run.replace(((*boot, *day), Seqs { from: *seq, to: *seq }));
                    before.into_iter().for_each(|(key, seqs)| note(key, seqs));
                }
            }
        }
        run.into_iter().for_each(|(key, seqs)| note(key, seqs));
    }
    out
}

/// The condition that picks rows of those boots and days, or more.
pub(super) fn of_boot_days(of: &[BootDay]) -> Expr {
    let boots: BTreeSet<i64> = of.iter().map(|(boot, _)| *boot).collect();
    let days: BTreeSet<i32> = of.iter().map(|(_, day)| *day).collect();
    let days = col("day").in_list(days.into_iter().map(lit).collect(), false);
    days.and(col("boot_id").in_list(boots.into_iter().map(lit).collect(), false))
}

/// Least and greatest tick of the new rows.
pub(super) fn tick_range(rows: &[(String, RecordBatch)]) -> Option<(i64, i64)> {
    rows.iter()
        .filter_map(|(_, b)| b.column_by_name("tick_ms")?.as_primitive_opt::<Int64Type>().cloned())
        .flat_map(|ticks| ticks.values().to_vec())
        .fold(None, |range, t| Some(range.map_or((t, t), |(a, b): (i64, i64)| (a.min(t), b.max(t)))))
}

/// The condition that picks rows of those ticks, by partition first.
pub(super) fn in_ticks(from: i64, to: i64) -> Expr {
    let day = |ms| lit(day_of(ms) as i32);
    col("day")
        .gt_eq(day(from))
        .and(col("day").lt_eq(day(to)))
        .and(col("tick_ms").gt_eq(lit(from)))
        .and(col("tick_ms").lt_eq(lit(to)))
}
