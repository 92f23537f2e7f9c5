//! What of a period nobody was charged for, and why.

use super::CloseError;
use super::bill::{of_closed, of_draft};
use super::manifest::Manifest;
use super::read::{as_closed, register_lines};
use crate::bill::Period;
use crate::engine::{Params, bigint};
use crate::lake::Lake;
use crate::report::{Ask, Column, Kind, Reader, Report, Value, price_facts};
use crate::rows::Columns;

/// Lists what was not charged: why, where, hours and list value. Of a closed period facts are as they were when it was closed and
/// lines as they were billed, else as `reader` has them.
///
/// # Errors
/// When a statement fails, or a version that the close named cannot be opened.
pub async fn uncharged(lake: &Lake, reader: &Reader, of: &Period) -> Result<Report, CloseError> {
    let work = as_closed(lake, reader, of).await?;
    let ask = Ask { window: of.window, zone: of.zone, by: Vec::new(), step: None, currency: of.currency.clone() };
    // facts first: the lines of a draft come of the same chain of statements
    price_facts(&work, &ask).await?;
    let billed = match Manifest::find(lake, &of.name).await? {
        Some(manifest) => of_closed(lake, work.engine().partitions(), manifest).await?,
        None => of_draft(lake, &work, of, "").await?,
    };
    register_lines(work.engine(), "bill_line", &billed.bill.lines)?;
    let window = Params::from([("from_ms", bigint(of.window.from_ms)), ("to_ms", bigint(of.window.to_ms))]);
    let (_, found) = work.engine().run("close/40_uncharged", &window).await?;
    let divisor = i128::from(of.currency.divisor());
    let mut rows = Vec::new();
    for b in &found {
        let c = Columns(b);
        let (why, place, runs) = (c.word("why")?, c.word("place")?, c.long("runs")?);
        let (ms, value) = (c.number("ms")?, c.exact("value")?);
        for i in 0..b.num_rows() {
            rows.push(vec![
                Value::Text(why[i].clone()),
                Value::Text(place[i].clone()),
                Value::Ms(i128::from(ms[i])),
                value[i].map_or(Value::Unknown, |v| Value::Money((2 * v + divisor).div_euclid(2 * divisor))),
                value[i].map_or_else(|| Value::Text(String::new()), |v| Value::Text(v.to_string())),
                runs[i].map_or(Value::Text(String::new()), |n| Value::Text(n.to_string())),
                Value::Text(reason(&why[i]).to_owned()),
            ]);
        }
    }
    let column = |name: &str, heading: &str, kind| Column { name: name.to_owned(), heading: heading.to_owned(), kind };
    Ok(Report {
        sentence: format!("{}: what no team was charged for, and why", of.name),
        columns: vec![
            column("why", "why", Kind::Text),
            column("place", "where", Kind::Text),
            column("hours", "GPU h", Kind::Hours),
            column("list_value", "at list price", Kind::Money),
            column("exact", "", Kind::Text),
            column("runs", "runs", Kind::Text),
            column("reason", "reason", Kind::Text),
        ],
        rows,
        total: None,
        notes: vec![
            "lost_card lies within unavailable; not_granted beside the capacity; values are rounded one by one"
                .to_owned(),
        ],
        currency: Some(of.currency.clone()),
        table_decimals: 1,
    })
}

/// Why, for people.
fn reason(why: &str) -> &'static str {
    match why {
        "unpriced" => "held, and no rate fits",
        "unowned" => "no owner: charged to the account unassigned",
        "foreign" => "used outside every allocation: charged to the account foreign",
        "showback" => "the pool is shown and not billed",
        "idle_in_busy_mode" => "the pool bills busy time only",
        "to_settle" => "held and not measured, in a pool that bills busy time: to be settled by hand",
        "lent" => "reserved by one team, used and paid by another",
        "unbilled_held" => "held, and the pool's mode does not bill it",
        "unallocated" => "nobody's, in service",
        "unavailable" => "out of order",
        "unobserved" => "nobody's, and nobody looked",
        "shared_out" => "taken over by teams",
        "lost_card" => "the card failed under its holder",
        "not_granted" => "asked for on a card that was full",
        "no_gpu" => "runs without a GPU",
        _ => "",
    }
}
