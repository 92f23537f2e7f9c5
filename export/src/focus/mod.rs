//! FOCUS 1.2 Cost and Usage: a row a charge, as Parquet or CSV. Rows of a statement add up to it to the minor unit: one
//! adjustment a statement carries what rounding leaves. What the platform bears is rows of its own account, so that all rows
//! together are what the fleet cost, with credits, adjustments and corrections beside it.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use arrow_array::RecordBatch;
use chrono::NaiveDate;
use chrono_tz::Tz;
use gpuledger_schema::bill::{Bill, LineKind};
use gpuledger_schema::window;

use crate::error::ExportError;
use crate::head;
use charge::{Charge, Charges, Time};
use column::MONEY_SCALE;
use row::{Category, LineFacts, Row, Sku, category, description, units};
use sink::{CsvSink, ParquetSink, Sink};

mod charge;
mod column;
mod row;
mod sink;

const DOCUMENT: &str = "FOCUS data set";

/// Format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet: decimals of 38 digits, instants in UTC.
    Parquet,
    /// CSV (RFC 4180, UTF-8): decimals, instants as `YYYY-MM-DDTHH:mm:ssZ`; an empty field is NULL.
    Csv {
        /// Begin with a byte order mark.
        bom: bool,
    },
}

/// Writes a bill with its charges (record batches of table `charge`, in any order).
///
/// # Errors
/// Where charges are of another shape or name a line that the bill has not, where the zone or an instant of the bill cannot be
/// read, and where `out` fails.
pub fn write(
    bill: &Bill,
    charges: &[RecordBatch],
    format: Format,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let mut sink: Box<dyn Sink + '_> = match format {
        Format::Parquet => Box::new(ParquetSink::new(bill, out)?),
        Format::Csv { bom } => Box::new(CsvSink::new(bom, out)?),
    };
    let maker = Maker::new(bill)?;
    let mut sums = Sums::new(&maker);
    for batch in charges {
        for charge in Charges::of(batch)?.rows() {
            let at = *maker.index.get(&charge.line_id).ok_or(ExportError::NoLine(charge.line_id))?;
            let row = maker.of_charge(&maker.lines[at], charge)?;
            sums.add(at, &row);
            sink.row(&row)?;
        }
    }
    for at in 0..maker.lines.len() {
        if let Some(row) = maker.of_rest(&maker.lines[at], &sums.charged[at])? {
            sums.add(at, &row);
            sink.row(&row)?;
        }
    }
    for (statement, billed) in &sums.statements {
        if let Some(row) = maker.of_rounding(statement, *billed) {
            sink.row(&row)?;
        }
    }
    sink.end()
}

/// A statement: what one team pays by one cost centre, or the platform.
type Statement<'a> = (&'a str, Option<&'a str>);

/// What was written so far.
struct Sums<'a> {
    /// Per line: time and exact money of its charges.
    charged: Vec<(Time, i128)>,
    /// Per statement: its amount less what was written, units of the currency times 10^18.
    statements: BTreeMap<Statement<'a>, i128>,
    keys: Vec<Statement<'a>>,
}

impl<'a> Sums<'a> {
    fn new(maker: &Maker<'a>) -> Self {
        let keys: Vec<Statement<'a>> =
            maker.lines.iter().map(|l| (l.line.team.as_str(), l.line.cost_center.as_deref())).collect();
        let minor = 10_i128.pow(MONEY_SCALE - maker.bill.digits);
        let mut statements = BTreeMap::new();
        for (key, facts) in keys.iter().zip(&maker.lines) {
            *statements.entry(*key).or_default() += i128::from(facts.line.amount_minor) * minor;
        }
        Self { charged: vec![(Time::default(), 0); keys.len()], statements, keys }
    }

    fn add(&mut self, at: usize, row: &Row<'_>) {
        let (time, exact) = &mut self.charged[at];
        time.quantity_ms += row.charge.time.quantity_ms;
        time.held_ms += row.charge.time.held_ms;
        time.busy_ms += row.charge.time.busy_ms;
        time.held_idle_ms += row.charge.time.held_idle_ms;
        time.held_unmeasured_ms += row.charge.time.held_unmeasured_ms;
        *exact += row.charge.exact;
        *self.statements.entry(self.keys[at]).or_default() -= row.billed;
    }
}

/// Makes rows.
struct Maker<'a> {
    bill: &'a Bill,
    zone: Tz,
    lines: Vec<LineFacts<'a>>,
    index: HashMap<i64, usize>,
    names: BTreeMap<&'a str, &'a str>,
}

impl<'a> Maker<'a> {
    fn new(bill: &'a Bill) -> Result<Self, ExportError> {
        let zone = head::zone(bill)?;
        let names: BTreeMap<&str, &str> =
            bill.cost_centers.iter().map(|c| (c.code.as_str(), c.name.as_str())).collect();
        let closed = head::hash(bill).is_some();
        let lines: Vec<LineFacts<'a>> = bill
            .lines
            .iter()
            .map(|line| LineFacts {
                line,
                id: line.line_id.to_string(),
                sku: Sku::of(line).filter(|_| category(line) == Category::Usage),
                category: category(line),
                description: description(line),
                sub_account_name: line.cost_center.as_deref().map(|c| names.get(c).copied().unwrap_or(c)),
                invoice: closed.then(|| format!("{}/{}", bill.period, line.team)),
                period: match line.corrects.as_deref().map(|m| window::month(m, zone)) {
                    Some(Ok(month)) => (month.from_ms, month.to_ms),
                    _ => (bill.from_ms, bill.to_ms),
                },
            })
            .collect();
        let index = lines.iter().enumerate().map(|(at, l)| (l.line.line_id, at)).collect();
        Ok(Self { bill, zone, lines, index, names })
    }

    /// A row with everything but what its time and money are.
    fn row<'r>(&'r self, facts: &'r LineFacts<'a>, charge: Charge<'r>, id: String) -> Row<'r> {
        let line = facts.line;
        let reserved = matches!(facts.kind(), Some(LineKind::Reserved));
        let reservation = reserved.then(|| format!("{}/{}", line.pool.as_deref().unwrap_or("-"), line.team));
        Row {
            id,
            line: Some(line),
            line_text: Some(&facts.id),
            category: facts.category,
            kind: &line.kind,
            sku: facts.sku.as_ref(),
            description: facts.description.clone(),
            account: &line.team,
            sub_account: line.cost_center.as_deref(),
            sub_account_name: facts.sub_account_name,
            invoice: facts.invoice.clone(),
            corrects: line.corrects.as_deref(),
            reservation,
            resource: resource(&charge),
            tags: tags(facts, &charge),
            charge,
            charge_period: facts.period,
            ..self.empty()
        }
    }

    fn empty(&self) -> Row<'_> {
        let period = (self.bill.from_ms, self.bill.to_ms);
        Row {
            id: String::new(),
            line: None,
            line_text: None,
            charge: Charge::default(),
            category: Category::Adjustment,
            kind: LineKind::Rounding.as_str(),
            sku: None,
            description: String::new(),
            account: "",
            sub_account: None,
            sub_account_name: None,
            invoice: None,
            corrects: None,
            reservation: None,
            resource: None,
            tags: None,
            issuer: &self.bill.issuer,
            currency: &self.bill.currency,
            zone: &self.bill.zone,
            period,
            charge_period: period,
            hours: None,
            consumed_ms: None,
            billed: 0,
            contracted: 0,
            list: 0,
        }
    }

    /// A charge: its local day, within the period that its line is of.
    fn of_charge<'r>(&'r self, facts: &'r LineFacts<'a>, charge: Charge<'r>) -> Result<Row<'r>, ExportError> {
        let id = format!("{}/{}/{}/{}", facts.id, charge.unit_id, charge.holder, charge.local_day);
        let mut row = self.row(facts, charge, id);
        let day = day(charge.local_day, self.zone)?;
        row.charge_period = (day.0.max(facts.period.0), day.1.min(facts.period.1));
        self.price(&mut row, facts);
        Ok(row)
    }

    /// What a line has beyond its charges: all of it where a person wrote it.
    fn of_rest<'r>(
        &'r self,
        facts: &'r LineFacts<'a>,
        (time, exact): &(Time, i128),
    ) -> Result<Option<Row<'r>>, ExportError> {
        let line = facts.line;
        let rest = Charge {
            line_id: line.line_id,
            time: Time {
                quantity_ms: line.quantity_ms - time.quantity_ms,
                held_ms: line.held_ms - time.held_ms,
                busy_ms: line.busy_ms - time.busy_ms,
                held_idle_ms: line.held_idle_ms - time.held_idle_ms,
                held_unmeasured_ms: line.held_unmeasured_ms - time.held_unmeasured_ms,
                energy_mj: if *time == Time::default() { line.energy_mj } else { None },
            },
            exact: line.exact - exact,
            ..Charge::default()
        };
        let nothing = Time { energy_mj: None, ..rest.time } == Time::default() && rest.exact == 0;
        if nothing {
            return Ok(None);
        }
        let mut row = self.row(facts, rest, facts.id.clone());
        self.price(&mut row, facts);
        Ok(Some(row))
    }

    fn price(&self, row: &mut Row<'_>, facts: &LineFacts<'_>) {
        match facts.category {
            Category::Usage => row.price_usage(),
            Category::Credit | Category::Adjustment => row.set_money(units(row.charge.exact)),
        }
    }

    /// What is missing from the rows of a statement to its amount.
    fn of_rounding<'r>(&'r self, (team, center): &Statement<'r>, missing: i128) -> Option<Row<'r>> {
        if missing == 0 {
            return None;
        }
        let closed = head::hash(self.bill).is_some();
        let mut row = Row {
            id: format!("rounding/{team}/{}", center.unwrap_or("")),
            description: "Rounding of the statement to minor units of the currency".to_owned(),
            account: team,
            sub_account: *center,
            sub_account_name: center.map(|c| self.names.get(c).copied().unwrap_or(c)),
            invoice: closed.then(|| format!("{}/{team}", self.bill.period)),
            ..self.empty()
        };
        row.set_money(missing);
        Some(row)
    }
}

/// Instants of a local day, given as the number YYYYMMDD.
fn day(number: i32, zone: Tz) -> Result<(i64, i64), ExportError> {
    let wrong = || ExportError::NoDate(number.into());
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    let date = NaiveDate::from_ymd_opt(year, month.unsigned_abs(), day.unsigned_abs()).ok_or_else(wrong)?;
    let next = date.succ_opt().ok_or_else(wrong)?;
    Ok((window::day_start_ms(date, zone), window::day_start_ms(next, zone)))
}

/// The device, or its stand-in where nobody named it.
fn resource(charge: &Charge<'_>) -> Option<String> {
    let stand_in = || (charge.unit_id != 0).then(|| format!("unit-{}", charge.unit_id));
    charge.device.map(str::to_owned).or_else(stand_in)
}

/// Names that a reader groups by; ours begin with `gpuledger/`.
fn tags(facts: &LineFacts<'_>, charge: &Charge<'_>) -> Option<String> {
    let line = facts.line;
    let pairs = [
        ("gpuledger/account", charge.account),
        ("gpuledger/cluster", charge.cluster),
        ("gpuledger/job", charge.job),
        ("gpuledger/pool", line.pool.as_deref()),
        ("gpuledger/task_type", line.task_type.as_deref()),
        ("gpuledger/tier", line.tier.as_deref()),
        ("gpuledger/user", charge.user),
    ];
    let map: serde_json::Map<String, serde_json::Value> =
        pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))).collect();
    (!map.is_empty()).then(|| serde_json::Value::Object(map).to_string())
}
