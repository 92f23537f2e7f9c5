//! `findings verify`: what findings marked done have saved.

use gpuledger_schema::unit::CELL_MS;
use gpuledger_schema::window::{Window, show_ms};

use super::facts::price_facts;
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
    let as_of = Params::from([("as_of_ms", bigint(window.to_ms))]);
    let (_, found) = reader.engine().run("waste/56_verified", &as_of).await?;
    let mut exact = Vec::new();
    for b in &found {
        let words = ["rule", "subject", "user", "name", "by"].map(|n| texts(b, n));
        let [rule, subject, user, name, by] = words;
        let (rule, subject, user, name, by) = (rule?, subject?, user?, name?, by?);
        let (done, days, cost) = (whole(b, "done_ms")?, whole(b, "days")?, whole(b, "saved_cost")?);
        let times = ["held_before_ms", "idle_before_ms", "held_after_ms", "idle_after_ms", "saved_ms"];
        let times = times.iter().map(|n| whole(b, n)).collect::<Result<Vec<_>, _>>()?;
        for i in 0..b.num_rows() {
            let text = |of: &[String]| Value::Text(of[i].clone());
            let mut line = vec![text(&rule), text(&subject), text(&user), text(&name)];
            line.push(Value::Text(show_ms(done[i].unwrap_or(0) as i64, ask.zone)));
            line.extend([text(&by), Value::Count(days[i].unwrap_or(0))]);
            line.extend(times.iter().map(|n| n[i].map_or(Value::Unknown, Value::Ms)));
            exact.push(cost[i]);
            report.rows.push(line);
        }
    }
    let amounts: Vec<Amounts> = vec![("saved", exact.iter().map(|e| e.unwrap_or(0)).collect())];
    let cost = round(reader.engine(), &ask.currency, &amounts).await?;
    for (i, line) in report.rows.iter_mut().enumerate() {
        line.push(if exact[i].is_some() { Value::Money(cost[0][i]) } else { Value::Unknown });
    }
    let saved = money(cost[0].iter().sum(), ask.currency.digits(), true);
    report.sentence =
        format!("{} findings marked done have saved {saved} {} so far", report.rows.len(), ask.currency.code());
    report.rows.sort_by_cached_key(|r| r.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>());
    Ok(report)
}
