//! `findings verify`: what findings marked done have saved: idle time, and what their own rule finds too much of.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::unit::CELL_MS;
use gpuledger_schema::window::{Window, show_ms};

use super::facts::price_facts;
use super::findings::judge;
use super::grouped::{texts, whole};
use super::money::{Amounts, round};
use super::render::money;
use super::{Ask, Column, Kind, Reader, Report, ReportError, Value};
use crate::engine::{Params, bigint};

fn columns() -> Vec<Column> {
    vec![
        Column::new("rule", "finding", Kind::Text),
        Column::new("subject", "job", Kind::Text),
        Column::new("user", "user", Kind::Text),
        Column::new("name", "name", Kind::Text),
        Column::new("done", "done", Kind::Text),
        Column::new("by", "by", Kind::Text),
        Column::new("days", "days", Kind::Count),
        Column::new("held_before_hours", "", Kind::Hours),
        Column::new("idle_before_hours", "idle before", Kind::Hours),
        Column::new("held_after_hours", "", Kind::Hours),
        Column::new("idle_after_hours", "idle after", Kind::Hours),
        Column::new("gap_before_hours", "gap before", Kind::Hours),
        Column::new("gap_after_hours", "gap after", Kind::Hours),
        Column::new("saved_hours", "saved h", Kind::Hours),
        Column::new("saved", "saved", Kind::Money),
    ]
}

/// The time to look at: from before the first mark to the end of what is known; none where nothing is marked done.
async fn window(reader: &Reader) -> Result<Option<Window>, ReportError> {
    reader.engine().step("ledger/01_as_of", &Params::new()).await?;
    let (_, rows) = reader.engine().run("waste/57_note_window", &Params::new()).await?;
    let first = |name| -> Result<Option<i64>, ReportError> {
        let all = rows.iter().map(|b| whole(b, name)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.concat().first().copied().flatten().map(|ms| ms as i64))
    };
    let known = first("from_ms")?.zip(first("as_of_ms")?);
    let whole_cells = |(from, to): (i64, i64)| Window { from_ms: from.div_euclid(CELL_MS) * CELL_MS, to_ms: to };
    Ok(known.map(whole_cells).filter(|w| w.from_ms < w.to_ms))
}

/// A note with what idle time tells of it.
struct Marked {
    words: [String; 5],
    done_ms: i64,
    days: i128,
    /// Held and idle before, held and idle after.
    times: [Option<i128>; 4],
    /// Idle time saved, and its exact money.
    idle: [Option<i128>; 2],
    /// The windows before and after in which its rule's gap is looked for.
    gap_in: Option<[Window; 2]>,
}

/// Time and exact money of a gap; no money where not all of it has a price.
type Gap = (i128, Option<i128>);
/// Gaps by rule, subject and time of the mark.
type Gaps = BTreeMap<(String, String, i64), Gap>;

async fn marked(reader: &Reader, as_of_ms: i64) -> Result<Vec<Marked>, ReportError> {
    let as_of = Params::from([("as_of_ms", bigint(as_of_ms))]);
    let found = reader.engine().step_rows("waste/56_verified", &as_of).await?;
    let mut out = Vec::new();
    for b in &found {
        let words = ["rule", "subject", "user", "name", "by"].map(|n| texts(b, n));
        let [rule, subject, user, name, by] = words;
        let (rule, subject, user, name, by) = (rule?, subject?, user?, name?, by?);
        let known = texts(b, "gap_known")?;
        let number = |n: &str| whole(b, n);
        let (done, days) = (number("done_ms")?, number("days")?);
        let (held, idle) = (number("held_before_ms")?, number("idle_before_ms")?);
        let (held_after, idle_after) = (number("held_after_ms")?, number("idle_after_ms")?);
        let (saved, cost) = (number("saved_ms")?, number("saved_cost")?);
        let bounds = ["before_from_ms", "before_to_ms", "after_from_ms", "after_to_ms"];
        let bounds = bounds.iter().map(|n| number(n)).collect::<Result<Vec<_>, _>>()?;
        for i in 0..b.num_rows() {
            let window = |from: usize| {
                let (from_ms, to_ms) = (bounds[from][i]?, bounds[from + 1][i]?);
                Some(Window { from_ms: from_ms as i64, to_ms: to_ms as i64 })
            };
            out.push(Marked {
                words: [&rule, &subject, &user, &name, &by].map(|of| of[i].clone()),
                done_ms: done[i].unwrap_or(0) as i64,
                days: days[i].unwrap_or(0),
                times: [held[i], idle[i], held_after[i], idle_after[i]],
                idle: [saved[i], cost[i]],
                gap_in: if known[i] == "true" { window(0).zip(window(2)).map(|(a, b)| [a, b]) } else { None },
            });
        }
    }
    Ok(out)
}

/// What the rules of the notes find too much of in a window.
async fn gaps(reader: &Reader, ask: &Ask, window: Window) -> Result<Gaps, ReportError> {
    judge(reader, &Ask { window, ..ask.clone() }).await?;
    let (_, rows) = reader.engine().run("waste/59_note_gap", &Params::new()).await?;
    let mut out = Gaps::new();
    for b in &rows {
        let (rule, subject, priced) = (texts(b, "rule")?, texts(b, "subject")?, texts(b, "priced")?);
        let (done, ms, cost) = (whole(b, "done_ms")?, whole(b, "gap_ms")?, whole(b, "gap_cost")?);
        for i in 0..b.num_rows() {
            let key = (rule[i].clone(), subject[i].clone(), done[i].unwrap_or(0) as i64);
            out.insert(key, (ms[i].unwrap_or(0), cost[i].filter(|_| priced[i] == "true")));
        }
    }
    Ok(out)
}

/// What findings marked done have saved: the same owner and name before and after, as long as both are known.
pub async fn verified(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    reader.whole("verified")?;
    let mut report = Report {
        sentence: "no finding is marked done".to_owned(),
        columns: columns(),
        rows: Vec::new(),
        total: None,
        notes: Vec::new(),
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    };
    let Some(window) = window(reader).await? else { return Ok(report) };
    price_facts(reader, &Ask { window, ..ask.clone() }).await?;
    let all = marked(reader, window.to_ms).await?;
    // notes of one day share their windows
    let windows: BTreeSet<(i64, i64)> =
        all.iter().flat_map(|m| m.gap_in.iter().flatten()).map(|w| (w.from_ms, w.to_ms)).collect();
    let mut found = BTreeMap::new();
    for (from_ms, to_ms) in windows {
        found.insert((from_ms, to_ms), gaps(reader, ask, Window { from_ms, to_ms }).await?);
    }
    let mut exact = Vec::new();
    for m in &all {
        let key = (m.words[0].clone(), m.words[1].clone(), m.done_ms);
        // a window in which the rule finds nothing has a gap of 0, and that costs nothing
        let gap = |w: &Window| found[&(w.from_ms, w.to_ms)].get(&key).copied().unwrap_or((0, Some(0)));
        let gaps = m.gap_in.as_ref().map(|[before, after]| [gap(before), gap(after)]);
        let less = gaps.map(|[before, after]| (before.0 - after.0, before.1.zip(after.1).map(|(b, a)| b - a)));
        let saved = match (m.idle[0], less) {
            (None, less) => less.map(|l| l.0),
            (idle, None) => idle,
            (Some(idle), Some(less)) => Some(idle + less.0),
        };
        exact.push(match (m.idle, less) {
            ([Some(_), None], _) | ([None, _], None) => None,
            ([None, _], Some(less)) => less.1,
            ([Some(_), cost], None) => cost,
            ([Some(_), Some(cost)], Some(less)) => less.1.map(|l| l + cost),
        });
        let mut line: Vec<Value> = m.words[..4].iter().cloned().map(Value::Text).collect();
        line.push(Value::Text(show_ms(m.done_ms, ask.zone)));
        line.extend([Value::Text(m.words[4].clone()), Value::Count(m.days)]);
        let time = |ms: Option<i128>| ms.map_or(Value::Unknown, Value::Ms);
        line.extend(m.times.map(time));
        line.extend([gaps.map(|g| g[0].0), gaps.map(|g| g[1].0), saved].map(time));
        report.rows.push(line);
    }
    let amounts: Vec<Amounts> = vec![("saved", exact.iter().map(|e| e.unwrap_or(0)).collect())];
    let cost = round(reader.engine(), &ask.currency, &amounts).await?;
    for (i, line) in report.rows.iter_mut().enumerate() {
        line.push(if exact[i].is_some() { Value::Money(cost[0][i]) } else { Value::Unknown });
    }
    let saved = money(cost[0].iter().sum(), ask.currency.digits(), true);
    report.sentence =
        format!("{} findings marked done have saved {saved} {} so far", report.rows.len(), ask.currency.code());
    let unknown = exact.iter().filter(|e| e.is_none()).count();
    if unknown > 0 {
        report.notes.push(format!(
            "of {unknown} nothing can be said: no whole day has passed, too little was measured, or what they cost has no price"
        ));
    }
    report.rows.sort_by_cached_key(|r| r.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>());
    Ok(report)
}
