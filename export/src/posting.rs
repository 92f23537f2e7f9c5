//! A posting file for the books: what each cost centre is charged, debit against credit, balanced to the cent.

use std::collections::BTreeMap;
use std::io::Write;

use gpuledger_schema::bill::Bill;

use crate::csv::{BOM, safe, writer};
use crate::error::{ExportError, Warning};
use crate::head::{hash, utc, zone};
use crate::number::decimal;
use crate::text::Lang;

/// Accounts and texts of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Account that cost centres are debited on, as the books number it.
    pub expense_account: String,
    /// Account that the platform is credited on.
    pub recovery_account: String,
    /// Cost centre of the platform: the other side of every posting.
    pub platform_cost_center: String,
    /// Language of the texts.
    pub lang: Lang,
    /// Begin with a byte order mark.
    pub bom: bool,
}

const COLUMNS: [&str; 11] = [
    "document",
    "line",
    "posting_date",
    "account",
    "cost_center",
    "debit",
    "credit",
    "currency",
    "text",
    "period",
    "reference",
];

/// What is posted together: cost centre, team where there is no cost centre, and the period that a correction corrects.
type Key<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

/// Writes a pair of lines, debit and credit, for each cost centre that pays or is paid back. What the platform bears is in no
/// posting: it stays where it was booked.
///
/// # Errors
/// Where the zone or an instant of the bill cannot be read, and where `out` fails.
pub fn write(bill: &Bill, options: &Options, out: &mut dyn Write) -> Result<Vec<Warning>, ExportError> {
    const DOCUMENT: &str = "posting file";
    let failed = |source| ExportError::Csv { document: DOCUMENT, source };
    if options.bom {
        out.write_all(BOM).map_err(|source| ExportError::Write { document: DOCUMENT, source })?;
    }
    let last_day = utc(bill.to_ms - 1)?.with_timezone(&zone(bill)?).format("%Y-%m-%d").to_string();
    let document = format!("GPU-{}", bill.period);
    let mut csv = writer(out);
    csv.write_record(COLUMNS).map_err(failed)?;
    let mut line = 0;
    for (key, minor) in amounts(bill) {
        let amount = decimal(minor.abs(), bill.digits, false);
        let center = key.0.unwrap_or_default();
        let expense = (options.expense_account.as_str(), center);
        let recovery = (options.recovery_account.as_str(), options.platform_cost_center.as_str());
        // an amount in favour of a team is posted the other way round, so that no amount is negative
        let (debit, credit) = if minor > 0 { (expense, recovery) } else { (recovery, expense) };
        let text = text(bill, key, options.lang);
        for ((account, center), is_debit) in [(debit, true), (credit, false)] {
            line += 1;
            let (left, right) = if is_debit { (amount.as_str(), "") } else { ("", amount.as_str()) };
            let number = line.to_string();
            let reference = hash(bill).unwrap_or("draft");
            csv.write_record([
                document.as_str(),
                number.as_str(),
                last_day.as_str(),
                safe(account).as_str(),
                safe(center).as_str(),
                left,
                right,
                bill.currency.as_str(),
                safe(&text).as_str(),
                bill.period.as_str(),
                reference,
            ])
            .map_err(failed)?;
        }
    }
    csv.flush().map_err(|source| ExportError::Write { document: DOCUMENT, source })?;
    Ok(without_center(bill))
}

/// Amounts that are not 0, minor units.
fn amounts(bill: &Bill) -> Vec<(Key<'_>, i128)> {
    let mut sums: BTreeMap<Key<'_>, i128> = BTreeMap::new();
    for line in bill.lines.iter().filter(|l| !l.platform) {
        let team = line.cost_center.is_none().then_some(line.team.as_str());
        let key = (line.cost_center.as_deref(), team, line.corrects.as_deref());
        *sums.entry(key).or_default() += i128::from(line.amount_minor);
    }
    sums.into_iter().filter(|(_, minor)| *minor != 0).collect()
}

fn text(bill: &Bill, (_, team, corrects): Key<'_>, lang: Lang) -> String {
    let values = [("period", bill.period.as_str()), ("team", team.unwrap_or("")), ("corrects", corrects.unwrap_or(""))];
    match (team, corrects) {
        (None, None) => lang.fill("posting.charge", &values),
        (None, Some(_)) => lang.fill("posting.correction", &values),
        (Some(_), None) => lang.fill("posting.charge_of_team", &values),
        (Some(_), Some(_)) => lang.fill("posting.correction_of_team", &values),
    }
}

fn without_center(bill: &Bill) -> Vec<Warning> {
    let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
    for line in bill.lines.iter().filter(|l| !l.platform && l.cost_center.is_none()) {
        *sums.entry(&line.team).or_default() += i128::from(line.amount_minor);
    }
    let amount = |minor: i128| format!("{} {}", decimal(minor, bill.digits, true), bill.currency);
    sums.into_iter()
        .filter(|(_, minor)| *minor != 0)
        .map(|(team, minor)| Warning::NoCostCenter { team: team.to_owned(), amount: amount(minor) })
        .collect()
}
