//! The sheet that proves that nothing was lost: six classes of time add up to the capacity, and their money to what the fleet
//! cost.

use rust_xlsxwriter::Worksheet;

use super::Book;
use super::cell::{formula, hours, hours_sum, money_sum, name, number, set_width, text};
use super::groups::amount_head;
use crate::error::ExportError;
use crate::number::{decimal, scaled};

/// Writes the sheet.
pub(super) fn write(book: &Book<'_>, sheet: &mut Worksheet) -> Result<(), ExportError> {
    set_width(sheet, 0, 64)?;
    set_width(sheet, 1, 20)?;
    set_width(sheet, 2, 14)?;
    let below = time(book, sheet)?;
    money(book, sheet, below + 2)?;
    sheet.set_freeze_panes(1, 1).map(|_| ()).map_err(super::failed)
}

/// Time, from the top; gives the last row.
fn time(book: &Book<'_>, sheet: &mut Worksheet) -> Result<u32, ExportError> {
    let (c, lang, styles) = (&book.bill.conservation, book.lang, &book.styles);
    super::heads(
        book,
        sheet,
        0,
        1,
        &[(lang.say("column.class"), false), (lang.say("column.hours"), true), (lang.say("column.share"), true)],
    )?;
    let classes = [
        (lang.say("class.busy"), c.busy_ms),
        (lang.say("class.held_idle"), c.held_idle_ms),
        (lang.say("class.held_unmeasured"), c.held_unmeasured_ms),
        (lang.say("class.unallocated"), c.unallocated_ms),
        (lang.say("class.unavailable"), c.unavailable_ms),
        (lang.say("class.unobserved"), c.unobserved_ms),
    ];
    let capacity: i128 = classes.iter().map(|(_, ms)| i128::from(*ms)).sum();
    for (row, (label, ms)) in (1..).zip(classes) {
        text(sheet, (row, 0), label, &styles.text)?;
        hours(sheet, (row, 1), ms.into(), &styles.hours)?;
        if capacity > 0 {
            number(sheet, (row, 2), scaled(ms.into(), capacity, 6), 6, "a part", &styles.percent)?;
        }
    }
    text(sheet, (7, 0), lang.say("book.capacity"), &styles.total_text)?;
    hours_sum(sheet, (7, 1), (1, 6), capacity, &styles.total_hours)?;
    text(sheet, (8, 0), lang.say("book.unpriced"), &styles.text)?;
    hours(sheet, (8, 1), c.unpriced_ms.into(), &styles.hours)?;
    Ok(8)
}

fn money(book: &Book<'_>, sheet: &mut Worksheet, top: u32) -> Result<(), ExportError> {
    let (c, lang, styles, digits) = (&book.bill.conservation, book.lang, &book.styles, book.bill.digits);
    text(sheet, (top, 0), lang.say("book.money"), &styles.head)?;
    text(sheet, (top, 1), &amount_head(book), &styles.head_right)?;
    let parts = [
        (lang.say("book.billed_use").to_owned(), c.billed_minor),
        (lang.kind("unbilled_held"), c.unbilled_held_minor),
        (lang.kind("to_settle"), c.to_settle_minor),
        (lang.kind("unallocated"), c.unallocated_minor),
        (lang.kind("unavailable"), c.unavailable_minor),
        (lang.kind("unobserved"), c.unobserved_minor),
    ];
    for (row, (label, minor)) in (top + 1..).zip(&parts) {
        text(sheet, (row, 0), label, &styles.text)?;
        number(sheet, (row, 1), (*minor).into(), digits, "an amount", &styles.money)?;
    }
    let sum: i128 = parts.iter().map(|(_, minor)| i128::from(*minor)).sum();
    let total = top + 7;
    text(sheet, (total, 0), lang.say("word.total"), &styles.total_text)?;
    money_sum(sheet, (total, 1), (top + 1, top + 6), sum, digits, &styles.total_money)?;
    text(sheet, (total + 1, 0), lang.say("book.fleet"), &styles.text)?;
    number(sheet, (total + 1, 1), c.fleet_minor.into(), digits, "an amount", &styles.money)?;
    text(sheet, (total + 2, 0), lang.say("column.difference"), &styles.text)?;
    let difference = format!("=ROUND({}-{},{digits})", name(total, 1), name(total + 1, 1));
    let value = decimal(sum - i128::from(c.fleet_minor), digits, false);
    formula(sheet, (total + 2, 1), &difference, &value, &styles.money)?;
    text(sheet, (total + 2, 2), lang.say("book.must_be_zero"), &styles.text)?;
    text(sheet, (total + 3, 0), lang.say("book.of_it_shared"), &styles.text)?;
    number(sheet, (total + 3, 1), c.shared_out_minor.into(), digits, "an amount", &styles.money)
}
