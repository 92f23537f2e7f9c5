//! A bill for a terminal: what teams pay, what the platform bears, and that both are what the fleet cost. 100 columns.

use std::io::Write;

use gpuledger_schema::bill::Bill;
use gpuledger_schema::table::StatementLineRow;

use crate::error::ExportError;
use crate::head;
use crate::number::{decimal, hours, percent};
use crate::sums::{Sums, platform, statements};
use crate::text::{Lang, fit, width};

/// What is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Only the statement of this team, with its lines.
    pub team: Option<String>,
    /// Language of headings.
    pub lang: Lang,
}

/// Columns of a terminal.
const WIDTH: usize = 100;
/// Blanks between columns.
const GAP: usize = 2;

/// Writes a bill, or the statement of one team.
///
/// # Errors
/// Where the bill has no such team, its zone or an instant cannot be read, and where `out` fails.
pub fn write(bill: &Bill, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let text = match &options.team {
        None => whole(bill, options.lang)?,
        Some(team) => one(bill, team, options.lang)?,
    };
    out.write_all(text.as_bytes()).map_err(|source| ExportError::Write { document: "table", source })
}

/// The lines of a team, or an error that names the teams there are.
pub(crate) fn lines_of<'a>(bill: &'a Bill, team: &str) -> Result<Vec<&'a StatementLineRow>, ExportError> {
    let mut all = statements(bill);
    all.remove(team).ok_or_else(|| ExportError::NoTeam {
        period: bill.period.clone(),
        team: team.to_owned(),
        teams: all.keys().copied().collect::<Vec<_>>().join(", "),
    })
}

/// Two lines: the sentence, and what it is of.
fn heading(bill: &Bill, sentence: &str, lang: Lang) -> Result<String, ExportError> {
    let mut out = format!("{sentence}\n{}, {}, {}\n", head::days(bill, lang)?, bill.zone, head::state(bill, lang)?);
    if let Some(hash) = head::hash(bill) {
        out.push_str(&fit(&lang.fill("head.hash", &[("hash", hash)]), WIDTH));
        out.push('\n');
    }
    Ok(out)
}

fn whole(bill: &Bill, lang: Lang) -> Result<String, ExportError> {
    let money = |minor: i128| decimal(minor, bill.digits, true);
    let groups = statements(bill);
    let total = Sums::of(bill.lines.iter().filter(|l| !l.platform));
    let fleet = format!("{} {}", money(bill.conservation.fleet_minor.into()), bill.currency);
    let sentence = lang.fill(
        "table.sentence",
        &[
            ("count", &groups.len().to_string()),
            ("period", &head::period_name(bill, lang)),
            ("amount", &format!("{} {}", money(total.amount), bill.currency)),
            ("fleet", &fleet),
        ],
    );
    let mut out = heading(bill, &sentence, lang)?;
    let currency = format!("{} {}", lang.say("column.amount"), bill.currency);
    let heads = measures_heads(lang, lang.say("column.team"), &currency);
    let rows: Vec<Vec<String>> = groups
        .iter()
        .map(|(team, lines)| measures(bill, (*team).to_owned(), &Sums::of(lines.iter().copied()), lang))
        .collect();
    let last = measures(bill, lang.say("word.total").to_owned(), &total, lang);
    out.push_str(&table(&heads, &rows, Some(&last)));
    let parts = platform(bill);
    if !parts.is_empty() {
        let heads = vec![lang.say("table.platform").to_owned(), bill.currency.clone()];
        let rows: Vec<Vec<String>> =
            parts.iter().map(|(kind, sums)| vec![lang.kind(kind.as_str()), money(sums.amount)]).collect();
        let sum = parts.iter().map(|(_, s)| s.amount).sum();
        out.push_str(&table(&heads, &rows, Some(&[lang.say("word.total").to_owned(), money(sum)])));
    }
    out.push_str(&notes(bill));
    Ok(out)
}

fn one(bill: &Bill, team: &str, lang: Lang) -> Result<String, ExportError> {
    let lines = lines_of(bill, team)?;
    let total = Sums::of(lines.iter().copied());
    let mut out = heading(bill, &crate::sentence::statement(bill, team, &lines, lang), lang)?;
    let currency = format!("{} {}", lang.say("column.amount"), bill.currency);
    let heads = measures_heads(lang, lang.say("column.line"), &currency);
    let rows: Vec<Vec<String>> =
        lines.iter().map(|l| measures(bill, crate::sentence::line(l, lang), &Sums::of([*l]), lang)).collect();
    let last = measures(bill, lang.say("word.total").to_owned(), &total, lang);
    out.push_str(&table(&heads, &rows, Some(&last)));
    out.push_str(&notes(bill));
    Ok(out)
}

fn measures_heads(lang: Lang, first: &str, amount: &str) -> Vec<String> {
    let keys = ["column.held_h", "column.busy_h", "column.waste_h", "column.unmeasured_h", "column.coverage"];
    let mut out = vec![first.to_owned()];
    out.extend(keys.map(|key| lang.say(key).to_owned()));
    out.extend([lang.say("column.waste").to_owned(), amount.to_owned()]);
    out
}

fn measures(bill: &Bill, first: String, sums: &Sums, lang: Lang) -> Vec<String> {
    let measured = |text: String| if sums.unknown_use() { lang.say("word.unknown").to_owned() } else { text };
    vec![
        first,
        hours(sums.held_ms),
        measured(hours(sums.busy_ms)),
        measured(hours(sums.held_idle_ms)),
        hours(sums.held_unmeasured_ms),
        percent(sums.covered_ms, sums.held_ms).unwrap_or_else(|| "-".to_owned()),
        measured(decimal(sums.waste, bill.digits, true)),
        decimal(sums.amount, bill.digits, true),
    ]
}

fn notes(bill: &Bill) -> String {
    bill.notes.iter().map(|note| format!("\n{}\n", note.replace(char::is_control, " "))).collect()
}

/// A table: the first column is text, as wide as the rest leaves it; numbers stand right.
fn table(heads: &[String], rows: &[Vec<String>], total: Option<&[String]>) -> String {
    let all = || rows.iter().map(Vec::as_slice).chain(total).chain([heads]);
    let columns = heads.len();
    let mut widths: Vec<usize> = (0..columns).map(|c| all().map(|r| width(&r[c])).max().unwrap_or(0)).collect();
    let numbers: usize = widths[1..].iter().map(|w| w + GAP).sum();
    widths[0] = widths[0].min(WIDTH.saturating_sub(numbers).max(8));
    let line = |row: &[String]| {
        let mut out = fit(&row[0], widths[0]);
        out.push_str(&" ".repeat(widths[0].saturating_sub(width(&out))));
        for (cell, w) in row.iter().zip(&widths).skip(1) {
            out.push_str(&" ".repeat(GAP + w.saturating_sub(width(cell))));
            out.push_str(cell);
        }
        out.trim_end().to_owned() + "\n"
    };
    let rule = "-".repeat(widths.iter().sum::<usize>() + GAP * (columns - 1)) + "\n";
    let mut out = format!("\n{}{rule}", line(heads));
    rows.iter().for_each(|row| out.push_str(&line(row)));
    if let Some(total) = total {
        out.push_str(&rule);
        out.push_str(&line(total));
    }
    out
}
