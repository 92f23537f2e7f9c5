//! The sheet of all lines, with filters and totals.

use gpuledger_schema::table::StatementLineRow;
use rust_xlsxwriter::Worksheet;

use super::cell::{hours_sum, money_sum, number, set_width, text};
use super::groups::{amount_head, known};
use super::{Book, Total, column_width, failed, heads, time, waste};
use crate::error::ExportError;
use crate::sums::Sums;

/// Columns of text before the numbers, with the text of a line there.
type Text = (&'static str, fn(&StatementLineRow) -> Option<&str>);
const TEXTS: [Text; 11] = [
    ("column.team", |l| Some(&l.team)),
    ("column.cost_center", |l| l.cost_center.as_deref()),
    ("column.period", |l| Some(&l.period)),
    ("column.kind", |l| Some(&l.kind)),
    ("column.pool", |l| l.pool.as_deref()),
    ("column.tier", |l| l.tier.as_deref()),
    ("column.model", |l| l.model.as_deref()),
    ("column.task_type", |l| l.task_type.as_deref()),
    ("column.mode", |l| l.mode.as_deref()),
    ("column.discount", |l| l.discount.as_deref()),
    ("column.corrects", |l| l.corrects.as_deref()),
];
/// Columns of text after the numbers.
const LAST: [Text; 2] = [("column.reason", |l| l.reason.as_deref()), ("column.approver", |l| l.approver.as_deref())];
/// Column of the kind, which is shown by its name.
const KIND: u16 = 3;
/// First column of numbers.
const NUMBERS: u16 = TEXTS.len() as u16;
/// Columns of numbers: two prices, priced hours, five of time, waste, list, amount, energy.
const COUNT: u16 = 12;

/// Writes the sheet.
pub(super) fn write(book: &Book<'_>, sheet: &mut Worksheet) -> Result<Total, ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    headings(book, sheet)?;
    let mut row = 1;
    let mut total = Sums::default();
    for line in &bill.lines {
        write_line(book, sheet, row, line)?;
        total.plus(&known(&Sums::of([line])));
        row += 1;
    }
    let (rows, last) = ((1, row.max(2) - 1), row.max(2));
    let columns = NUMBERS + COUNT + LAST.len() as u16 + 1;
    sheet.autofilter(0, 0, rows.1, columns - 1).map_err(failed)?;
    (0..columns).try_for_each(|c| text(sheet, (last, c), "", &styles.total_text))?;
    text(sheet, (last, 0), lang.say("word.total"), &styles.total_text)?;
    let time = [total.quantity_ms, total.held_ms, total.busy_ms, total.held_idle_ms, total.held_unmeasured_ms];
    for (column, ms) in (NUMBERS + 2..).zip(time) {
        hours_sum(sheet, (last, column), rows, ms, &styles.total_hours)?;
    }
    for (column, minor) in (NUMBERS + 8..).zip([total.waste, total.list, total.amount]) {
        money_sum(sheet, (last, column), rows, minor, bill.digits, &styles.total_money)?;
    }
    Ok(Total { sheet: lang.say("sheet.lines"), row: last, column: NUMBERS + 10, amount: total.amount })
}

fn headings(book: &Book<'_>, sheet: &mut Worksheet) -> Result<(), ExportError> {
    let lang = book.lang;
    let amount = amount_head(book);
    let mut names: Vec<(&str, bool)> = TEXTS.iter().map(|(key, _)| (lang.say(key), false)).collect();
    let numbers = [
        "column.list_price",
        "column.price",
        "column.gpu_hours",
        "column.held_h",
        "column.busy_h",
        "column.waste_h",
        "column.unmeasured_h",
        "column.coverage",
        "column.waste",
        "column.list",
    ];
    names.extend(numbers.map(|key| (lang.say(key), true)));
    names.extend([(amount.as_str(), true), (lang.say("column.energy"), true)]);
    names.extend(LAST.iter().map(|(key, _)| (lang.say(key), false)));
    names.push((lang.say("column.line_id"), false));
    heads(book, sheet, 0, 2, &names)?;
    for (column, (_, of)) in (0..).zip(TEXTS) {
        let kinds: Vec<String>;
        let width = if column == KIND {
            kinds = book.bill.lines.iter().map(|l| lang.kind(&l.kind)).collect();
            column_width(kinds.iter().map(String::as_str))
        } else {
            column_width(book.bill.lines.iter().filter_map(of))
        };
        set_width(sheet, column, width)?;
    }
    (NUMBERS..NUMBERS + COUNT).try_for_each(|c| set_width(sheet, c, 15))?;
    (NUMBERS + COUNT..).zip([36, 16, 22]).try_for_each(|(c, width)| set_width(sheet, c, width))
}

fn write_line(book: &Book<'_>, sheet: &mut Worksheet, row: u32, line: &StatementLineRow) -> Result<(), ExportError> {
    let (styles, digits) = (&book.styles, book.bill.digits);
    for (column, (_, of)) in (0..).zip(TEXTS) {
        if column == KIND {
            text(sheet, (row, column), &book.lang.kind(&line.kind), &styles.text)?;
        } else if let Some(value) = of(line) {
            text(sheet, (row, column), value, &styles.text)?;
        }
    }
    for (column, micros) in (NUMBERS..).zip([line.list_price_micros, line.price_micros]) {
        if let Some(micros) = micros {
            number(sheet, (row, column), micros.into(), 6, "a price", &styles.price)?;
        }
    }
    let sums = Sums::of([line]);
    // a line that a person wrote has no time, which is not the same as no time at all
    if crate::sums::has_time(line) {
        super::cell::hours(sheet, (row, NUMBERS + 2), sums.quantity_ms, &styles.hours)?;
        time(book, sheet, (row, NUMBERS + 3), &sums)?;
        waste(book, sheet, (row, NUMBERS + 8), &sums)?;
    }
    number(sheet, (row, NUMBERS + 9), sums.list, digits, "an amount", &styles.money)?;
    number(sheet, (row, NUMBERS + 10), sums.amount, digits, "an amount", &styles.money)?;
    if let Some(mj) = sums.energy_mj {
        let kwh = crate::number::scaled(mj, 3_600_000_000, 6);
        number(sheet, (row, NUMBERS + 11), kwh, 6, "a number of kWh", &styles.hours)?;
    }
    let after = NUMBERS + COUNT;
    for (column, (_, of)) in (after..).zip(LAST) {
        if let Some(value) = of(line) {
            text(sheet, (row, column), value, &styles.text)?;
        }
    }
    // 19 digits are more than a number cell holds
    text(sheet, (row, after + 2), &line.line_id.to_string(), &styles.text)
}
