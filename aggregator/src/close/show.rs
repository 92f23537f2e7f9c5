//! How a close, its list and corrections are shown.

use std::fmt::Write as _;

use gpuledger_schema::table::StatementLineRow;

use super::correct::Correction;
use super::list::Proposal;
use super::manifest::Manifest;
use crate::bill::Period;
use crate::report::{self, Column, Currency, Kind, Report, Value};

/// GPU-hours with four decimals.
pub(super) fn hours(ms: i64) -> String {
    report::hours(i128::from(ms), 4)
}

/// Minor units as an amount with its currency.
pub(super) fn amount(minor: i64, currency: &Currency) -> String {
    format!("{} {}", report::money(i128::from(minor), currency.digits(), true), currency.code())
}

/// Exact money as people read it: rounded half up for showing, never for billing.
pub(super) fn exact_amount(exact: i128, currency: &Currency) -> String {
    let divisor = i128::from(currency.divisor());
    let minor = (2 * exact + divisor).div_euclid(2 * divisor);
    format!("{} {}", report::money(minor, currency.digits(), true), currency.code())
}

/// The close list and the totals for people.
pub fn list_text(of: &Period, found: &Proposal) -> String {
    let (billed, corrections) = found.draft.billed_minor();
    let c = &found.draft.conservation;
    let mut out = format!(
        "{}: {} lines, {} charges; billed {} (of it corrections {}), fleet {}\n",
        of.name,
        found.draft.lines.len(),
        found.draft.charge_rows(),
        amount(billed, &of.currency),
        amount(corrections, &of.currency),
        amount(c.fleet_minor, &of.currency)
    );
    if found.items.is_empty() {
        out.push_str("nothing stands against closing it\n");
        return out;
    }
    let open = found.items.iter().filter(|i| i.waiver.is_none()).count();
    let _ = writeln!(out, "{} items on the close list, {open} of them open", found.items.len());
    for item in &found.items {
        let state = match (&item.waived, item.waivable) {
            (Some(_), _) => "waived",
            (None, true) => "OPEN",
            (None, false) => "OPEN, cannot be waived",
        };
        let value = match (&item.value, item.ms) {
            (Some(value), _) => format!("; worth {value} at list price"),
            (None, Some(_)) => "; what it is worth is not known".to_owned(),
            (None, None) => String::new(),
        };
        let _ = write!(out, "\n{} [{state}]\n  {}{value}\n  mend: {}\n", item.id, indented(&item.what), item.mend);
        if let Some(waived) = &item.waived {
            let _ = writeln!(out, "  {waived}");
        }
    }
    out
}

/// What a close is, for people; `how` it came to be.
pub fn closed_text(of: &Period, how: &str, m: &Manifest) -> String {
    let of_it = if m.corrects.is_empty() { String::new() } else { format!(" of {}", m.corrects.join(", ")) };
    let mut out = format!(
        "{} {how}: close {}\n{} lines, {} charges; billed {} (of it corrections{of_it} {}), fleet {}\n",
        m.period,
        m.close_id,
        m.lines,
        m.charges,
        amount(m.billed_minor, &of.currency),
        amount(m.corrections_minor, &of.currency),
        amount(m.conservation.fleet_minor, &of.currency)
    );
    let _ = writeln!(
        out,
        "cut {}, {} data files, {} waived\nsha256 {}",
        m.cut,
        m.files.len(),
        m.waived.len(),
        m.output_sha256
    );
    out
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

fn column(name: &str, heading: &str, kind: Kind) -> Column {
    Column { name: name.to_owned(), heading: heading.to_owned(), kind }
}

/// Text, or a dash where there is none.
pub(super) fn or_dash(text: Option<&String>) -> Value {
    Value::Text(text.map_or_else(|| "-".to_owned(), Clone::clone))
}

/// Columns of lines, as statements and previews show them.
pub(super) fn line_columns() -> Vec<Column> {
    vec![
        column("line_id", "line", Kind::Text),
        column("team", "team", Kind::Text),
        column("cost_center", "cost centre", Kind::Text),
        column("kind", "kind", Kind::Text),
        column("pool", "pool", Kind::Text),
        column("tier", "", Kind::Text),
        column("model", "model", Kind::Text),
        column("task_type", "task", Kind::Text),
        column("mode", "", Kind::Text),
        column("price", "price", Kind::Text),
        column("discount", "", Kind::Text),
        column("quantity_hours", "GPU h", Kind::Hours),
        column("busy_hours", "", Kind::Hours),
        column("held_idle_hours", "", Kind::Hours),
        column("held_unmeasured_hours", "", Kind::Hours),
        column("amount", "amount", Kind::Money),
        column("waste", "of it waste", Kind::Money),
        column("list_value", "", Kind::Money),
        column("exact", "", Kind::Text),
        column("corrects", "corrects", Kind::Text),
        column("reason", "", Kind::Text),
        column("approver", "", Kind::Text),
    ]
}

/// A line as a row of those columns.
pub(super) fn line_row(l: &StatementLineRow) -> Vec<Value> {
    let ms = |v: i64| Value::Ms(i128::from(v));
    let money = |v: i64| Value::Money(i128::from(v));
    let price = l.price_micros.map(|p| report::money(i128::from(p), 6, false));
    vec![
        Value::Text(l.line_id.to_string()),
        Value::Text(l.team.clone()),
        or_dash(l.cost_center.as_ref()),
        Value::Text(l.kind.clone()),
        or_dash(l.pool.as_ref()),
        or_dash(l.tier.as_ref()),
        or_dash(l.model.as_ref()),
        or_dash(l.task_type.as_ref()),
        or_dash(l.mode.as_ref()),
        or_dash(price.as_ref()),
        or_dash(l.discount.as_ref()),
        ms(l.quantity_ms),
        ms(l.busy_ms),
        ms(l.held_idle_ms),
        ms(l.held_unmeasured_ms),
        money(l.amount_minor),
        money(l.waste_minor),
        money(l.list_minor),
        Value::Text(l.exact.to_string()),
        or_dash(l.corrects.as_ref()),
        or_dash(l.reason.as_ref()),
        or_dash(l.approver.as_ref()),
    ]
}

/// The total of those columns.
pub(super) fn line_total(lines: &[&StatementLineRow]) -> Vec<Value> {
    let sum = |of: fn(&StatementLineRow) -> i64| lines.iter().map(|l| i128::from(of(l))).sum::<i128>();
    let exact: i128 = lines.iter().map(|l| l.exact).sum();
    let mut total = vec![Value::Text("total".to_owned())];
    total.extend((0..10).map(|_| Value::Text(String::new())));
    total.extend([
        Value::Ms(sum(|l| l.quantity_ms)),
        Value::Ms(sum(|l| l.busy_ms)),
        Value::Ms(sum(|l| l.held_idle_ms)),
        Value::Ms(sum(|l| l.held_unmeasured_ms)),
        Value::Money(sum(|l| l.amount_minor)),
        Value::Money(sum(|l| l.waste_minor)),
        Value::Money(sum(|l| l.list_minor)),
        Value::Text(exact.to_string()),
    ]);
    total.extend((0..3).map(|_| Value::Text(String::new())));
    total
}

/// Corrections that a close now would write.
pub fn preview_report(into: &Period, each: &[Correction]) -> Report {
    let lines: Vec<&StatementLineRow> = each.iter().flat_map(|c| &c.lines).collect();
    let teams: i64 = lines.iter().filter(|l| !l.platform).map(|l| l.amount_minor).sum();
    let sentence = if lines.is_empty() {
        "closed periods are as they were billed: there is nothing to correct".to_owned()
    } else {
        let periods: Vec<&str> = each.iter().map(|c| c.period.as_str()).collect();
        format!("corrections of {} would bill teams {}", periods.join(", "), amount(teams, &into.currency))
    };
    let notes = lines.iter().filter_map(|l| l.reason.as_ref().map(|r| format!("{} {r}", l.line_id))).collect();
    Report {
        sentence,
        columns: line_columns(),
        rows: lines.iter().map(|l| line_row(l)).collect(),
        total: Some(line_total(&lines)).filter(|_| !lines.is_empty()),
        notes,
        currency: Some(into.currency.clone()),
        table_decimals: 4,
    }
}
