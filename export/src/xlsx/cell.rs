//! Cells of a spreadsheet. The only place where a number becomes a double, because a cell is one: a decimal of at most 15
//! digits is read into the nearest double, which is written as the same decimal again, and nothing is computed with it.

use rust_xlsxwriter::{Color, Format, FormatAlign, FormatBorder, Formula, Worksheet, XlsxError};

use crate::error::ExportError;
use crate::number::{decimal, hours_scaled};

/// Digits that a double holds for any decimal.
const DIGITS_MAX: u32 = 15;
/// Characters that a cell holds.
const TEXT_MAX: usize = 32_767;
/// Digits after the point of hours: a millisecond is 0.000 000 28 h.
const HOUR_DIGITS: u32 = 9;

/// How cells look.
pub(super) struct Styles {
    pub(super) title: Format,
    pub(super) section: Format,
    pub(super) head: Format,
    pub(super) head_right: Format,
    pub(super) text: Format,
    pub(super) unknown: Format,
    pub(super) money: Format,
    pub(super) price: Format,
    pub(super) hours: Format,
    pub(super) percent: Format,
    pub(super) whole: Format,
    pub(super) total_text: Format,
    pub(super) total_money: Format,
    pub(super) total_hours: Format,
    pub(super) total_whole: Format,
}

/// Colour of money, as everywhere.
const MONEY: Color = Color::RGB(0x1e_3a_5f);
const RULE: Color = Color::RGB(0x94_a3_b8);
const QUIET: Color = Color::RGB(0x57_53_4e);

impl Styles {
    pub(super) fn new(digits: u32) -> Self {
        let part = if digits == 0 { String::new() } else { format!(".{}", "0".repeat(digits as usize)) };
        let money = Format::new().set_num_format(format!("#,##0{part};[Red]-#,##0{part};0{part}"));
        let total = |f: Format| f.set_bold().set_border_top(FormatBorder::Thin).set_border_top_color(RULE);
        let hours = Format::new().set_num_format("#,##0.0");
        let whole = Format::new().set_num_format("#,##0");
        let head = Format::new()
            .set_bold()
            .set_font_color(Color::White)
            .set_background_color(MONEY)
            .set_text_wrap()
            .set_align(FormatAlign::VerticalCenter);
        Self {
            title: Format::new().set_bold().set_font_size(16).set_font_color(MONEY),
            section: Format::new().set_bold().set_font_size(12).set_font_color(MONEY),
            head_right: head.clone().set_align(FormatAlign::Right),
            head,
            text: Format::new().set_align(FormatAlign::Top),
            unknown: Format::new().set_italic().set_font_color(QUIET).set_align(FormatAlign::Right),
            total_money: total(money.clone()),
            money,
            price: Format::new().set_num_format("#,##0.00####"),
            total_hours: total(hours.clone()),
            hours,
            percent: Format::new().set_num_format("0.0%"),
            total_whole: total(whole.clone()),
            whole,
            total_text: total(Format::new()),
        }
    }
}

/// Writes a text; never a formula, whatever it begins with.
pub(super) fn text(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    value: &str,
    format: &Format,
) -> Result<(), ExportError> {
    let cut: String;
    let value = if value.len() > TEXT_MAX && value.chars().count() > TEXT_MAX {
        cut = value.chars().take(TEXT_MAX - 1).chain(['…']).collect();
        &cut
    } else {
        value
    };
    sheet.write_string_with_format(row, column, value, format).map(|_| ()).map_err(ExportError::Xlsx)
}

/// Writes `value / 10^digits`. `what` names it in the error of a number that a cell would round.
pub(super) fn number(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    value: i128,
    digits: u32,
    what: &'static str,
    format: &Format,
) -> Result<(), ExportError> {
    let text = exact(value, digits, what)?;
    let double: f64 = text.parse().map_err(|_| ExportError::TooManyDigits { what, amount: text })?;
    sheet.write_number_with_format(row, column, double, format).map(|_| ()).map_err(ExportError::Xlsx)
}

/// A decimal that a double holds.
fn exact(value: i128, digits: u32, what: &'static str) -> Result<String, ExportError> {
    let text = decimal(value, digits, false);
    if value.unsigned_abs() >= 10_u128.pow(DIGITS_MAX) {
        return Err(ExportError::TooManyDigits { what, amount: text });
    }
    Ok(text)
}

/// Writes milliseconds as hours: 9 digits after the point where 15 suffice for that, else fewer.
pub(super) fn hours(sheet: &mut Worksheet, at: (u32, u16), ms: i128, format: &Format) -> Result<(), ExportError> {
    let digits = hour_digits(ms);
    number(sheet, at, hours_scaled(ms, digits), digits, "a number of hours", format)
}

fn hour_digits(ms: i128) -> u32 {
    (0..=HOUR_DIGITS).rev().find(|d| hours_scaled(ms, *d).unsigned_abs() < 10_u128.pow(DIGITS_MAX)).unwrap_or(0)
}

/// Writes a formula with its value, so that a reader which computes nothing shows the same.
pub(super) fn formula(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    formula: &str,
    value: &str,
    format: &Format,
) -> Result<(), ExportError> {
    let formula = Formula::new(formula).set_result(value);
    sheet.write_formula_with_format(row, column, formula, format).map(|_| ()).map_err(ExportError::Xlsx)
}

/// Writes the sum of a column of money, rounded to the currency's digits: cents are no doubles, and their sum may be off by
/// the last bit.
pub(super) fn money_sum(
    sheet: &mut Worksheet,
    at: (u32, u16),
    rows: (u32, u32),
    value: i128,
    digits: u32,
    format: &Format,
) -> Result<(), ExportError> {
    let value = exact(value, digits, "a sum of money")?;
    let range = range(at.1, rows);
    formula(sheet, at, &format!("=ROUND(SUM({range}),{digits})"), &value, format)
}

/// Writes the sum of a column of hours.
pub(super) fn hours_sum(
    sheet: &mut Worksheet,
    at: (u32, u16),
    rows: (u32, u32),
    ms: i128,
    format: &Format,
) -> Result<(), ExportError> {
    let digits = hour_digits(ms);
    let value = decimal(hours_scaled(ms, digits), digits, false);
    formula(sheet, at, &format!("=SUM({})", range(at.1, rows)), &value, format)
}

/// Writes the sum of a column of whole numbers.
pub(super) fn whole_sum(
    sheet: &mut Worksheet,
    at: (u32, u16),
    rows: (u32, u32),
    value: i128,
    format: &Format,
) -> Result<(), ExportError> {
    formula(sheet, at, &format!("=SUM({})", range(at.1, rows)), &exact(value, 0, "a count")?, format)
}

/// A column from its first to its last row, as formulas name it.
pub(super) fn range(column: u16, (first, last): (u32, u32)) -> String {
    format!("{}:{}", name(first, column), name(last, column))
}

/// A cell, as formulas name it.
pub(super) fn name(row: u32, column: u16) -> String {
    rust_xlsxwriter::utility::row_col_to_cell(row, column)
}

/// Width of a column, in widths of a digit.
pub(super) fn set_width(sheet: &mut Worksheet, column: u16, width: u16) -> Result<(), ExportError> {
    sheet.set_column_width(column, width).map(|_| ()).map_err(ExportError::Xlsx)
}

/// What the library says, as ours.
pub(super) fn failed(error: XlsxError) -> ExportError {
    ExportError::Xlsx(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_a_cell_would_round_is_refused() {
        assert_eq!(exact(-99_999_999_999_999, 2, "x").unwrap(), "-999999999999.99");
        let error = exact(1_000_000_000_000_000, 2, "an amount").unwrap_err().to_string();
        assert!(error.starts_with("an amount of 10000000000000.00 has more than 15 digits"), "{error}");
    }

    #[test]
    fn decimals_of_15_digits_survive_a_double() {
        // every decimal of at most 15 digits is written as it was read
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = i128::from(seed % 1_000_000_000_000_000);
            let text = exact(value, 3, "x").unwrap();
            let double: f64 = text.parse().unwrap();
            let short = text.trim_end_matches('0').trim_end_matches('.');
            assert_eq!(double.to_string(), short);
        }
    }

    #[test]
    fn hours_have_as_many_digits_as_fit() {
        assert_eq!(hour_digits(3_600_000), 9);
        assert_eq!(hour_digits(3_600_000 * 9_999_999), 8);
        assert_eq!(range(2, (4, 9)), "C5:C10");
    }
}
