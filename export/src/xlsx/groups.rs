//! Sheets of sums: by team, by cost centre, by period, and of what nobody used.

use gpuledger_schema::bill::Bill;
use rust_xlsxwriter::{Format, Worksheet};

use super::cell::{hours, hours_sum, money_sum, number, set_width, text, whole_sum};
use super::{Book, Total, column_width, heads, time, waste as waste_cell};
use crate::error::ExportError;
use crate::rollup::tree;
use crate::sums::{Sums, by, statements};

/// Columns of hours: held, busy, idle, unmeasured.
type Time = [fn(&Sums) -> i128; 4];
const TIME: Time = [|s| s.held_ms, |s| s.busy_ms, |s| s.held_idle_ms, |s| s.held_unmeasured_ms];

/// A line a team: time, waste, list price, amount.
pub(super) fn teams(book: &Book<'_>, sheet: &mut Worksheet) -> Result<Total, ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    let groups = statements(bill);
    set_width(sheet, 0, column_width(groups.keys().copied()))?;
    (1..=9).try_for_each(|c| set_width(sheet, c, if c > 6 { 16 } else { 11 }))?;
    let amount = amount_head(book);
    let names = [
        (lang.say("column.team"), false),
        (lang.say("column.lines"), true),
        (lang.say("column.held_h"), true),
        (lang.say("column.busy_h"), true),
        (lang.say("column.waste_h"), true),
        (lang.say("column.unmeasured_h"), true),
        (lang.say("column.coverage"), true),
        (lang.say("column.waste"), true),
        (lang.say("column.list"), true),
        (amount.as_str(), true),
    ];
    heads(book, sheet, 0, 1, &names)?;
    let mut row = 1;
    let mut total = Sums::default();
    for (team, lines) in &groups {
        let sums = Sums::of(lines.iter().copied());
        text(sheet, (row, 0), team, &styles.text)?;
        number(sheet, (row, 1), sums.lines as i128, 0, "a count", &styles.whole)?;
        time(book, sheet, (row, 2), &sums)?;
        waste_cell(book, sheet, (row, 7), &sums)?;
        number(sheet, (row, 8), sums.list, bill.digits, "an amount", &styles.money)?;
        number(sheet, (row, 9), sums.amount, bill.digits, "an amount", &styles.money)?;
        total.plus(&known(&sums));
        row += 1;
    }
    let rows = (1, row.max(2) - 1);
    let last = row.max(2);
    text(sheet, (last, 0), lang.say("word.total"), &styles.total_text)?;
    whole_sum(sheet, (last, 1), rows, total.lines as i128, &styles.total_whole)?;
    for (column, ms) in (2..).zip(TIME) {
        hours_sum(sheet, (last, column), rows, ms(&total), &styles.total_hours)?;
    }
    text(sheet, (last, 6), "", &styles.total_text)?;
    for (column, minor) in [(7, total.waste), (8, total.list), (9, total.amount)] {
        money_sum(sheet, (last, column), rows, minor, bill.digits, &styles.total_money)?;
    }
    Ok(Total { sheet: lang.say("sheet.teams"), row: last, column: 9, amount: total.amount })
}

/// What a sum over cells sees: where use is unknown there is no number in the cell.
pub(super) fn known(sums: &Sums) -> Sums {
    if sums.unknown_use() { Sums { busy_ms: 0, held_idle_ms: 0, waste: 0, ..*sums } } else { *sums }
}

/// The heading of amounts, with the currency.
pub(super) fn amount_head(book: &Book<'_>) -> String {
    format!("{} {}", book.lang.say("column.amount"), book.bill.currency)
}

/// The tree of cost centres: what each bears itself, and with all below it.
pub(super) fn centers(book: &Book<'_>, sheet: &mut Worksheet) -> Result<(), ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    let nodes = tree(bill);
    let amount = amount_head(book);
    let names = [
        (lang.say("column.cost_center"), false),
        (lang.say("column.name"), false),
        (lang.say("column.held_h"), true),
        (lang.say("column.own"), true),
        (amount.as_str(), true),
    ];
    set_width(sheet, 0, 28)?;
    set_width(sheet, 1, column_width(nodes.iter().filter_map(|n| n.name.as_deref())))?;
    (2..=4).try_for_each(|c| set_width(sheet, c, 18))?;
    heads(book, sheet, 0, 1, &names)?;
    let mut row = 1;
    let mut own = Sums::default();
    for node in &nodes {
        let indented = Format::new().set_indent(node.depth.min(15) as u8);
        text(sheet, (row, 0), node.code.as_deref().unwrap_or_else(|| lang.say("word.none")), &indented)?;
        text(sheet, (row, 1), node.name.as_deref().unwrap_or(""), &styles.text)?;
        hours(sheet, (row, 2), node.own.held_ms, &styles.hours)?;
        number(sheet, (row, 3), node.own.amount, bill.digits, "an amount", &styles.money)?;
        number(sheet, (row, 4), node.total.amount, bill.digits, "an amount", &styles.money)?;
        own.plus(&node.own);
        row += 1;
    }
    // the last column has every amount once for each node above it: only the own ones add up
    let (rows, last) = ((1, row.max(2) - 1), row.max(2));
    text(sheet, (last, 0), lang.say("word.total"), &styles.total_text)?;
    text(sheet, (last, 1), "", &styles.total_text)?;
    hours_sum(sheet, (last, 2), rows, own.held_ms, &styles.total_hours)?;
    money_sum(sheet, (last, 3), rows, own.amount, bill.digits, &styles.total_money)?;
    let total = format!("={}", super::cell::name(last, 3));
    let value = crate::number::decimal(own.amount, bill.digits, false);
    super::cell::formula(sheet, (last, 4), &total, &value, &styles.total_money)
}

/// Teams down, periods across, for a bill of several months.
pub(super) fn periods(book: &Book<'_>, sheet: &mut Worksheet) -> Result<(), ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    let cells = by(bill.lines.iter().filter(|l| !l.platform), |l| (l.team.as_str(), l.period.as_str()));
    let months = months(bill);
    let teams = statements(bill);
    let mut names = vec![(lang.say("column.team"), false)];
    names.extend(months.iter().map(|m| (*m, true)));
    let amount = amount_head(book);
    names.push((amount.as_str(), true));
    heads(book, sheet, 0, 1, &names)?;
    set_width(sheet, 0, column_width(teams.keys().copied()))?;
    (1..names.len() as u16).try_for_each(|c| set_width(sheet, c, 16))?;
    let minor = |team: &str, month: &str| cells.get(&(team, month)).map_or(0, |s| s.amount);
    let right = months.len() as u16;
    let mut row = 1;
    for team in teams.keys() {
        text(sheet, (row, 0), team, &styles.text)?;
        for (column, month) in (1..).zip(&months) {
            number(sheet, (row, column), minor(team, month), bill.digits, "an amount", &styles.money)?;
        }
        let all: i128 = months.iter().map(|m| minor(team, m)).sum();
        across(book, sheet, row, right, all)?;
        row += 1;
    }
    let (rows, last) = ((1, row.max(2) - 1), row.max(2));
    text(sheet, (last, 0), lang.say("word.total"), &styles.total_text)?;
    for (column, month) in (1..).zip(&months) {
        let sum = teams.keys().map(|t| minor(t, month)).sum();
        money_sum(sheet, (last, column), rows, sum, bill.digits, &styles.total_money)?;
    }
    let all = cells.values().map(|s| s.amount).sum();
    money_sum(sheet, (last, right + 1), rows, all, bill.digits, &styles.total_money)
}

/// The sum of a row.
fn across(book: &Book<'_>, sheet: &mut Worksheet, row: u32, right: u16, all: i128) -> Result<(), ExportError> {
    let (from, to) = (super::cell::name(row, 1), super::cell::name(row, right));
    let formula = format!("=ROUND(SUM({from}:{to}),{})", book.bill.digits);
    let value = crate::number::decimal(all, book.bill.digits, false);
    super::cell::formula(sheet, (row, right + 1), &formula, &value, &book.styles.money)
}

fn months(bill: &Bill) -> Vec<&str> {
    by(&bill.lines, |l| l.period.as_str()).into_keys().collect()
}

/// Held and not used by team; and what nobody held, with its money.
pub(super) fn waste(book: &Book<'_>, sheet: &mut Worksheet) -> Result<(), ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    let groups = statements(bill);
    let money = format!("{} {}", lang.say("column.waste"), bill.currency);
    set_width(sheet, 0, column_width(groups.keys().copied()).max(30))?;
    (1..=4).try_for_each(|c| set_width(sheet, c, 18))?;
    let names = [
        (lang.say("book.waste_by_team"), false),
        (lang.say("column.waste_h"), true),
        (money.as_str(), true),
        (lang.say("column.unmeasured_h"), true),
        (lang.say("column.coverage"), true),
    ];
    heads(book, sheet, 0, 1, &names)?;
    let mut sorted: Vec<(&str, Sums)> = groups.into_iter().map(|(team, lines)| (team, Sums::of(lines))).collect();
    sorted.sort_by(|a, b| (b.1.waste, a.0).cmp(&(a.1.waste, b.0)));
    let mut row = 1;
    let mut total = Sums::default();
    for (team, sums) in &sorted {
        text(sheet, (row, 0), team, &styles.text)?;
        if sums.unknown_use() {
            text(sheet, (row, 1), lang.say("word.unknown"), &styles.unknown)?;
        } else {
            hours(sheet, (row, 1), sums.held_idle_ms, &styles.hours)?;
        }
        waste_cell(book, sheet, (row, 2), sums)?;
        hours(sheet, (row, 3), sums.held_unmeasured_ms, &styles.hours)?;
        if sums.held_ms > 0 {
            let part = crate::number::scaled(sums.covered_ms, sums.held_ms, 6);
            number(sheet, (row, 4), part, 6, "a part", &styles.percent)?;
        }
        total.plus(&known(sums));
        row += 1;
    }
    let (rows, last) = ((1, row.max(2) - 1), row.max(2));
    text(sheet, (last, 0), lang.say("word.total"), &styles.total_text)?;
    hours_sum(sheet, (last, 1), rows, total.held_idle_ms, &styles.total_hours)?;
    money_sum(sheet, (last, 2), rows, total.waste, bill.digits, &styles.total_money)?;
    hours_sum(sheet, (last, 3), rows, total.held_unmeasured_ms, &styles.total_hours)?;
    losses(book, sheet, last + 2)
}

fn losses(book: &Book<'_>, sheet: &mut Worksheet, top: u32) -> Result<(), ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    let c = &bill.conservation;
    text(sheet, (top, 0), lang.say("book.losses"), &styles.head)?;
    text(sheet, (top, 1), lang.say("column.hours"), &styles.head_right)?;
    text(sheet, (top, 2), &amount_head(book), &styles.head_right)?;
    let parts = [
        (lang.say("class.unallocated"), c.unallocated_ms, c.unallocated_minor),
        (lang.say("class.unavailable"), c.unavailable_ms, c.unavailable_minor),
        (lang.say("class.unobserved"), c.unobserved_ms, c.unobserved_minor),
    ];
    let (mut ms_sum, mut minor_sum) = (0, 0);
    for (row, (label, ms, minor)) in (top + 1..).zip(parts) {
        text(sheet, (row, 0), label, &styles.text)?;
        hours(sheet, (row, 1), ms.into(), &styles.hours)?;
        number(sheet, (row, 2), minor.into(), bill.digits, "an amount", &styles.money)?;
        ms_sum += i128::from(ms);
        minor_sum += i128::from(minor);
    }
    let (rows, last) = ((top + 1, top + 3), top + 4);
    text(sheet, (last, 0), lang.say("word.total"), &styles.total_text)?;
    hours_sum(sheet, (last, 1), rows, ms_sum, &styles.total_hours)?;
    money_sum(sheet, (last, 2), rows, minor_sum, bill.digits, &styles.total_money)
}
