//! The sentence that answers the question of a statement, and what a line is called.

use gpuledger_schema::bill::Bill;
use gpuledger_schema::table::StatementLineRow;

use crate::head;
use crate::number::{decimal, hours, percent};
use crate::sums::Sums;
use crate::text::Lang;

/// What a team held in the period, how much of it was used, and what the statement comes to, corrections of earlier periods
/// included.
pub(crate) fn statement(bill: &Bill, team: &str, lines: &[&StatementLineRow], lang: Lang) -> String {
    let money = |minor: i128| format!("{} {}", decimal(minor, bill.digits, true), bill.currency);
    // time that a correction adds or takes was in another period
    let sums = Sums::of(lines.iter().copied().filter(|l| l.corrects.is_none()));
    let amount = Sums::of(lines.iter().copied()).amount;
    let values = [
        ("team", team),
        ("period", &head::period_name(bill, lang)),
        ("held", &hours(sums.held_ms)),
        ("busy", &percent(sums.busy_ms, sums.held_ms).unwrap_or_default()),
        ("idle", &hours(sums.held_idle_ms)),
        ("unmeasured", &hours(sums.held_unmeasured_ms)),
        ("waste", &money(sums.waste)),
        ("amount", &money(amount)),
    ];
    if sums.held_ms == 0 {
        lang.fill("sentence.nothing_held", &values)
    } else if sums.unknown_use() {
        lang.fill("sentence.nothing_measured", &values)
    } else if sums.held_unmeasured_ms > 0 {
        lang.fill("sentence.partly_measured", &values)
    } else {
        lang.fill("sentence.measured", &values)
    }
}

/// What a line is, as one phrase of names: kind, pool, model, task type; or the reason that a person gave.
pub(crate) fn line(line: &StatementLineRow, lang: Lang) -> String {
    let mut out = lang.kind(&line.kind);
    if let Some(period) = &line.corrects {
        out = lang.fill("line.correction", &[("period", period)]);
    }
    let names = [&line.pool, &line.tier, &line.model, &line.task_type, &line.reason];
    for name in names.into_iter().flatten() {
        out.push_str(" · ");
        out.push_str(name);
    }
    out
}
