//! Which days of the ledger a batch changes.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::{cast, filter_record_batch};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use gpuledger_schema::table::Table;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::day_of;

use crate::lake::Cut;

/// How far a claim reaches back to the start of its run (`sql/ledger/07_claim.sql`).
const CLAIM_REACH_MS: i64 = 900_000;

/// Xids after which a card is gone (`sql/ledger/13_failure.sql`).
const FATAL: [i64; 6] = [48, 64, 79, 95, 119, 120];

/// Days touched so far.
#[derive(Debug, Default)]
pub(super) struct Touched {
    days: BTreeSet<i32>,
    near: BTreeSet<i32>,
    from: Option<i32>,
    runs_seen: BTreeSet<i64>,
    renamed: BTreeSet<i64>,
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

/// A column as text.
fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).and_then(|c| cast(c, &DataType::Utf8).ok());
    let text = column.as_ref().and_then(|c| c.as_string_opt::<i32>());
    text.map(|t| (0..t.len()).map(|i| t.value(i).to_owned()).collect()).unwrap_or_default()
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
            "job" => self.jobs(fresh, before),
            "allocation" => self.runs(fresh, before),
            "allocation_device" | "job_average" => self.of_runs(fresh),
            "device" => self.open_ended(fresh, "first_seen_ms"),
            "node_state" => self.open_ended(fresh, "from_ms"),
            "device_claim" => self.claims(fresh, before),
            "sample" if !fresh.is_empty() => self.from(i32::MIN),
            "reading" => self.readings(fresh, before),
            _ => {}
        }
    }

    /// A tick reaches into the next day, and can be placed up to a day from where its wall clock put it.
    fn minutes(&mut self, fresh: &[RecordBatch]) {
        let days: BTreeSet<i64> = fresh.iter().flat_map(|b| ints(b, "day")).flatten().collect();
        self.near.extend(days.iter().map(|d| *d as i32 - 1));
        for batch in fresh {
            // a card that failed stays so until a tick says otherwise, over days without ticks
            let (days, xids, states) = (ints(batch, "day"), ints(batch, "xid"), texts(batch, "state"));
            for (i, day) in days.into_iter().enumerate() {
                let failed = states.get(i).is_some_and(|s| s == "lost") || xids[i].is_some_and(|x| FATAL.contains(&x));
                if let Some(day) = day.filter(|_| failed) {
                    self.from(day as i32);
                }
            }
        }
        self.days.extend(days.into_iter().flat_map(|d| [d as i32, d as i32 + 1]));
    }

    /// What is asked for and how it is named decides task type and model of its runs. A request that is only read again (it waits, its
    /// priority changed) changes nothing.
    fn jobs(&mut self, fresh: &[RecordBatch], before: &[RecordBatch]) {
        const SAME: [&str; 8] =
            ["account", "queue", "qos", "name", "labels", "workload_kind", "req_model", "het_leader"];
        let asked: BTreeSet<i64> = fresh.iter().flat_map(|b| ints(b, "job_id")).flatten().collect();
        let rows = |batch: &RecordBatch| {
            let ids = ints(batch, "job_id");
            let of_asked: BooleanArray = ids.iter().map(|id| Some(id.is_some_and(|id| asked.contains(&id)))).collect();
            let Ok(batch) = filter_record_batch(batch, &of_asked) else { return Vec::new() };
            let [ids, as_of] = ["job_id", "as_of_ms"].map(|c| ints(&batch, c));
            let same = SAME.map(|c| texts(&batch, c));
            let words = move |i: usize| same.each_ref().map(|c| c.get(i).cloned().unwrap_or_default());
            let of = move |(i, id): (usize, Option<i64>)| Some((id?, as_of[i].unwrap_or(i64::MIN), words(i)));
            ids.into_iter().enumerate().filter_map(of).collect()
        };
        let mut known: BTreeMap<i64, (i64, [String; 8])> = BTreeMap::new();
        for (id, as_of, words) in before.iter().flat_map(rows) {
            let kept = known.entry(id).or_insert_with(|| (as_of, words.clone()));
            if as_of > kept.0 {
                *kept = (as_of, words);
            }
        }
        for (id, _, words) in fresh.iter().flat_map(rows) {
            if known.get(&id).is_none_or(|(_, before)| *before != words) {
                self.renamed.insert(id);
            }
        }
    }

    /// Whether requests came, or came with other words: then [`Self::runs_of_requests`] has to see all runs.
    pub(super) fn has_requests(&self) -> bool {
        !self.renamed.is_empty()
    }

    /// Notes the days of the runs of those requests, wherever they are in.
    pub(super) fn runs_of_requests(&mut self, runs: &[RecordBatch]) {
        let renamed = std::mem::take(&mut self.renamed);
        self.days_of_runs(runs, "job_id", &renamed);
    }

    /// Notes the days of runs of which that column names one of these, from start to end; of a run without an end, all from its start on.
    fn days_of_runs<'a>(
        &mut self,
        runs: impl IntoIterator<Item = &'a RecordBatch>,
        column: &str,
        these: &BTreeSet<i64>,
    ) {
        for batch in runs {
            let columns = [column, "start_ms", "end_ms", "last_seen_ms"].map(|c| ints(batch, c));
            for i in 0..batch.num_rows() {
                let (Some(id), Some(start)) = (columns[0][i], columns[1][i]) else { continue };
                if these.contains(&id) {
                    match columns[2][i].or(columns[3][i]) {
                        Some(end) => self.span(start, end),
                        None => self.from(day_of(start) as i32),
                    }
                }
            }
        }
    }

    /// From the least old or new start to the greatest old or new end; an open run may last to a look that is in already.
    fn runs(&mut self, fresh: &[RecordBatch], before: &[RecordBatch]) {
        for batch in fresh {
            self.runs_seen.extend(ints(batch, "allocation_id").into_iter().flatten());
        }
        let seen = std::mem::take(&mut self.runs_seen);
        self.days_of_runs(fresh.iter().chain(before), "allocation_id", &seen);
        self.runs_seen = seen;
    }

    /// Facts of runs: those of runs in the same batch are noted with them, others may lie anywhere.
    fn of_runs(&mut self, fresh: &[RecordBatch]) {
        let elsewhere = fresh.iter().flat_map(|b| ints(b, "allocation_id")).flatten();
        if elsewhere.into_iter().any(|id| !self.runs_seen.contains(&id)) {
            self.from(i32::MIN);
        }
    }

    /// A claim counts from a little before its first look on; one that is only seen again changes what came after.
    fn claims(&mut self, fresh: &[RecordBatch], before: &[RecordBatch]) {
        const SAME: [&str; 5] = ["device_id", "instance_id", "hint_id", "share_units", "from_ms"];
        let mut known: BTreeMap<i64, (i64, Option<i64>, [Option<i64>; 5])> = BTreeMap::new();
        let rows = |batch: &RecordBatch| {
            let [ids, as_of, to] = ["claim_id", "as_of_ms", "to_ms"].map(|c| ints(batch, c));
            let same = SAME.map(|c| ints(batch, c));
            let of = move |i: usize| (as_of[i].unwrap_or(i64::MIN), to[i], same.each_ref().map(|c| c[i]));
            ids.into_iter().enumerate().filter_map(move |(i, id)| Some((id?, of(i)))).collect::<Vec<_>>()
        };
        for (id, row) in before.iter().flat_map(rows) {
            let kept = known.entry(id).or_insert(row);
            if row.0 > kept.0 {
                *kept = row;
            }
        }
        for (id, (_, to, same)) in fresh.iter().flat_map(rows) {
            let first = same[4].unwrap_or(i64::MAX).saturating_sub(CLAIM_REACH_MS);
            let changed = match known.get(&id) {
                Some((seen, ended, before)) if *before == same => {
                    [Some(*seen), *ended, to].into_iter().flatten().min().unwrap_or(first).max(first)
                }
                _ => first,
            };
            self.from(day_of(changed) as i32);
        }
    }

    fn open_ended(&mut self, fresh: &[RecordBatch], column: &str) {
        if let Some(first) = fresh.iter().flat_map(|b| ints(b, column)).flatten().min() {
            self.from(day_of(first) as i32);
        }
    }

    /// An as-of that moves extends what is known from where it stood: that of a cluster, and that of a scheduler's source.
    fn readings(&mut self, fresh: &[RecordBatch], before: &[RecordBatch]) {
        let mut stood: BTreeMap<String, i64> = BTreeMap::new();
        let mut looks: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
        for batch in before {
            for (cluster, to) in texts(batch, "cluster").into_iter().zip(ints(batch, "to_ms")) {
                let at = stood.entry(cluster).or_insert(i64::MIN);
                *at = (*at).max(to.unwrap_or(i64::MIN));
            }
        }
        for batch in before.iter().chain(fresh) {
            for (source, to) in texts(batch, "source").into_iter().zip(ints(batch, "to_ms")) {
                looks.entry(source).or_default().extend(to);
            }
        }
        for batch in fresh {
            let columns = ["from_ms", "to_ms"].map(|c| ints(batch, c));
            let names = ["cluster", "source", "kind"].map(|c| texts(batch, c));
            for i in 0..batch.num_rows() {
                let (Some(from), Some(to)) = (columns[0][i], columns[1][i]) else { continue };
                match stood.get(&names[0][i]) {
                    Some(at) if *at >= to => {}
                    Some(at) => self.span(*at, to),
                    None => self.span(from, to),
                }
                if names[2][i] == "scheduler" {
                    // from the look before it to the first one of a later day: its day's usual interval judges that hole
                    let of = &looks[&names[1][i]];
                    let before = of.range(..to).next_back().copied().unwrap_or(from);
                    let after = of.range((day_of(to) + 1) * DAY_MS..).next().copied().unwrap_or(to);
                    self.span(from.min(before), after);
                }
            }
        }
    }

    /// Writes down in a cut what it changed.
    pub(super) fn tell(self, cut: &mut Cut) {
        (cut.touched_days, cut.near_days, cut.touched_from) = (self.days, self.near, self.from);
    }
}
