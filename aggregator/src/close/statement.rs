//! A statement: the lines of one team, or of all, of a closed period or a draft.

use gpuledger_schema::bill::{Bill, State};
use gpuledger_schema::table::StatementLineRow;
use gpuledger_schema::window::{self, show_ms};

use super::list::Answer;
use super::show::{amount, line_columns, line_row, line_total};
use crate::report::{Column, Currency, Kind, Report, Value};

/// The lines of a bill as a report; of one team (`(platform)` is the platform), or of all. What teams answered stands beside.
pub fn statement(bill: &Bill, currency: &Currency, team: Option<&str>, answers: &[Answer]) -> Report {
    let lines: Vec<&StatementLineRow> = bill.lines.iter().filter(|l| team.is_none_or(|t| l.team == t)).collect();
    let sum: i64 = lines.iter().filter(|l| team.is_some() || !l.platform).map(|l| l.amount_minor).sum();
    let who = team.unwrap_or("teams together");
    let zone = window::zone(&bill.zone).unwrap_or(chrono_tz::UTC);
    let (state, hash) = match &bill.state {
        State::Closed { closed_ms, output_sha256, .. } => {
            (format!("closed {}", show_ms(*closed_ms, zone)), Some(format!("sha256 {output_sha256}")))
        }
        State::Draft { cut, as_of_ms } => (format!("draft as of {} (cut {cut})", show_ms(*as_of_ms, zone)), None),
    };
    let mut columns = line_columns();
    columns.push(Column { name: "answer".to_owned(), heading: "answer".to_owned(), kind: Kind::Text });
    let rows = lines.iter().map(|l| {
        let mut row = line_row(l);
        row.push(answer(l, answers));
        row
    });
    let total = (!lines.is_empty()).then(|| {
        let mut total = line_total(&lines);
        total.push(Value::Text(String::new()));
        total
    });
    let reasons = lines.iter().filter_map(|l| l.reason.as_ref().map(|r| format!("{}: {r}", l.line_id)));
    Report {
        sentence: format!("{} {}: {who}: {}", bill.period, state, amount(sum, currency)),
        rows: rows.collect(),
        total,
        notes: hash.into_iter().chain(reasons).chain(bill.notes.iter().cloned()).collect(),
        columns,
        currency: Some(currency.clone()),
        table_decimals: 4,
    }
}

fn answer(line: &StatementLineRow, answers: &[Answer]) -> Value {
    let last = answers.iter().filter(|a| a.line_id == line.line_id).max_by_key(|a| a.at_ms);
    Value::Text(last.map_or_else(String::new, |a| {
        let word = if a.disputed { "disputed" } else { "accepted" };
        if a.reason.is_empty() { format!("{word} by {}", a.by) } else { format!("{word} by {}: {}", a.by, a.reason) }
    }))
}
