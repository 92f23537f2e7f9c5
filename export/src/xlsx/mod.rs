//! A bill as a spreadsheet: summary, by team, by cost centre, lines, waste and losses, conservation. Totals are formulas, and
//! each carries its value. Text is written as text, whatever it begins with.

use std::io::Write;

use gpuledger_schema::bill::Bill;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, Worksheet};

use crate::error::ExportError;
use crate::head;
use crate::sums::{Sums, platform};
use crate::text::{Lang, width};
use cell::{Styles, failed, formula, money_sum, name, number, set_width, text};

mod cell;
mod conservation;
mod groups;
mod lines;

/// How the spreadsheet is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Language of headings.
    pub lang: Lang,
}

/// What every sheet needs.
struct Book<'a> {
    bill: &'a Bill,
    lang: Lang,
    styles: Styles,
}

/// Where the total of a sheet stands, for formulas of other sheets.
struct Total {
    sheet: &'static str,
    row: u32,
    column: u16,
    amount: i128,
}

impl Total {
    fn reference(&self) -> String {
        format!("'{}'!{}", self.sheet.replace('\'', "''"), name(self.row, self.column))
    }
}

/// Writes a bill.
///
/// # Errors
/// Where an amount has more than 15 digits (a cell would round it), where the zone or an instant of the bill cannot be read,
/// and where `out` fails.
pub fn write(bill: &Bill, options: Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let lang = options.lang;
    let book = Book { bill, lang, styles: Styles::new(bill.digits) };
    let mut teams = sheet(lang.say("sheet.teams"))?;
    let by_team = groups::teams(&book, &mut teams)?;
    let mut lines = sheet(lang.say("sheet.lines"))?;
    let all_lines = lines::write(&book, &mut lines)?;
    let mut summary = sheet(lang.say("sheet.summary"))?;
    write_summary(&book, &mut summary, &by_team, &all_lines)?;
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties(bill, lang)?);
    workbook.push_worksheet(summary);
    workbook.push_worksheet(teams);
    add(&mut workbook, lang.say("sheet.centers"), |s| groups::centers(&book, s))?;
    let several = bill.lines.iter().any(|l| l.period != bill.lines[0].period);
    if several {
        add(&mut workbook, lang.say("sheet.periods"), |s| groups::periods(&book, s))?;
    }
    workbook.push_worksheet(lines);
    add(&mut workbook, lang.say("sheet.waste"), |s| groups::waste(&book, s))?;
    add(&mut workbook, lang.say("sheet.conservation"), |s| conservation::write(&book, s))?;
    let bytes = workbook.save_to_buffer().map_err(failed)?;
    out.write_all(&bytes).map_err(|source| ExportError::Write { document: "spreadsheet", source })
}

fn sheet(name: &str) -> Result<Worksheet, ExportError> {
    let mut sheet = Worksheet::new();
    sheet.set_name(name).map_err(failed)?;
    sheet.set_paper_size(9).set_landscape().set_print_fit_to_pages(1, 0);
    Ok(sheet)
}

fn add(
    workbook: &mut Workbook,
    name: &str,
    write: impl FnOnce(&mut Worksheet) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut sheet = sheet(name)?;
    write(&mut sheet)?;
    workbook.push_worksheet(sheet);
    Ok(())
}

/// Title and time of the file: that of the close, not of its making.
fn properties(bill: &Bill, lang: Lang) -> Result<DocProperties, ExportError> {
    let made = ExcelDateTime::from_timestamp(head::document_ms(bill).div_euclid(1000)).map_err(failed)?;
    let title = lang.fill("book.title", &[("period", &bill.period)]);
    Ok(DocProperties::new().set_title(title).set_company(&bill.issuer).set_creation_datetime(&made))
}

/// What the bill is, its three sums and their proof, what the platform bears, notes.
fn write_summary(
    book: &Book<'_>,
    sheet: &mut Worksheet,
    by_team: &Total,
    all_lines: &Total,
) -> Result<(), ExportError> {
    let (bill, lang, styles) = (book.bill, book.lang, &book.styles);
    set_width(sheet, 0, 44)?;
    set_width(sheet, 1, 24)?;
    text(sheet, (0, 0), &lang.fill("book.title", &[("period", &head::period_name(bill, lang))]), &styles.title)?;
    let mut row = 2;
    for (label, value) in facts(bill, lang)? {
        text(sheet, (row, 0), label, &styles.text)?;
        text(sheet, (row, 1), &value, &styles.text)?;
        row += 1;
    }
    row += 1;
    let (digits, first) = (bill.digits, row);
    text(sheet, (row, 0), lang.say("column.amount"), &styles.head)?;
    text(sheet, (row, 1), &bill.currency, &styles.head_right)?;
    text(sheet, (row + 1, 0), lang.say("book.billed"), &styles.text)?;
    let value = crate::number::decimal(by_team.amount, digits, false);
    formula(sheet, (row + 1, 1), &format!("={}", by_team.reference()), &value, &styles.money)?;
    row += 2;
    let parts = platform(bill);
    for (kind, sums) in &parts {
        text(sheet, (row, 0), &lang.fill("book.platform_kind", &[("kind", &lang.kind(kind.as_str()))]), &styles.text)?;
        number(sheet, (row, 1), sums.amount, digits, "an amount", &styles.money)?;
        row += 1;
    }
    let all = by_team.amount + parts.iter().map(|(_, s)| s.amount).sum::<i128>();
    text(sheet, (row, 0), lang.say("book.all"), &styles.total_text)?;
    money_sum(sheet, (row, 1), (first + 1, row - 1), all, digits, &styles.total_money)?;
    text(sheet, (row + 1, 0), lang.say("book.must_be_zero"), &styles.text)?;
    let difference = format!("=ROUND({}-{},{digits})", name(row, 1), all_lines.reference());
    let value = crate::number::decimal(all - all_lines.amount, digits, false);
    formula(sheet, (row + 1, 1), &difference, &value, &styles.money)?;
    row += 3;
    if !bill.notes.is_empty() {
        text(sheet, (row, 0), lang.say("statement.notes"), &styles.section)?;
        for (i, note) in (1..).zip(&bill.notes) {
            text(sheet, (row + i, 0), note, &styles.text)?;
        }
    }
    Ok(())
}

/// What every document says at its top.
fn facts(bill: &Bill, lang: Lang) -> Result<Vec<(&'static str, String)>, ExportError> {
    let mut out = vec![
        (lang.say("book.issuer"), bill.issuer.clone()),
        (lang.say("statement.period"), head::days(bill, lang)?),
        (lang.say("statement.zone"), bill.zone.clone()),
        (lang.say("statement.state"), head::state(bill, lang)?),
        (lang.say("statement.currency"), bill.currency.clone()),
    ];
    out.extend(head::hash(bill).map(|hash| (lang.say("statement.hash"), hash.to_owned())));
    Ok(out)
}

/// Writes a row of headings at `row` and keeps it, with `columns` on the left, in sight.
fn heads(
    book: &Book<'_>,
    sheet: &mut Worksheet,
    row: u32,
    columns: u16,
    names: &[(&str, bool)],
) -> Result<(), ExportError> {
    for (column, (name, is_number)) in (0..).zip(names) {
        let format = if *is_number { &book.styles.head_right } else { &book.styles.head };
        text(sheet, (row, column), name, format)?;
    }
    sheet.set_freeze_panes(row + 1, columns).map_err(failed)?;
    sheet.set_repeat_rows(0, row).map_err(failed)?;
    Ok(())
}

/// A width for texts: as wide as the widest, between bounds.
fn column_width<'a>(texts: impl Iterator<Item = &'a str>) -> u16 {
    let widest = texts.map(width).max().unwrap_or(0);
    widest.clamp(8, 44) as u16 + 2
}

/// Held, busy, idle and unmeasured hours and the measured part, from `column`; what is unknown says so.
fn time(book: &Book<'_>, sheet: &mut Worksheet, (row, column): (u32, u16), sums: &Sums) -> Result<(), ExportError> {
    let styles = &book.styles;
    cell::hours(sheet, (row, column), sums.held_ms, &styles.hours)?;
    for (i, ms) in (1..).zip([sums.busy_ms, sums.held_idle_ms]) {
        if sums.unknown_use() {
            text(sheet, (row, column + i), book.lang.say("word.unknown"), &styles.unknown)?;
        } else {
            cell::hours(sheet, (row, column + i), ms, &styles.hours)?;
        }
    }
    cell::hours(sheet, (row, column + 3), sums.held_unmeasured_ms, &styles.hours)?;
    if sums.held_ms > 0 {
        let part = crate::number::scaled(sums.covered_ms, sums.held_ms, 6);
        number(sheet, (row, column + 4), part, 6, "a part", &styles.percent)?;
    }
    Ok(())
}

/// Money that was held and not used; unknown where nothing was measured.
fn waste(book: &Book<'_>, sheet: &mut Worksheet, at: (u32, u16), sums: &Sums) -> Result<(), ExportError> {
    if sums.unknown_use() {
        return text(sheet, at, book.lang.say("word.unknown"), &book.styles.unknown);
    }
    number(sheet, at, sums.waste, book.bill.digits, "an amount", &book.styles.money)
}
