//! From a line of a bill down to its charges, with the rate, multipliers and owner rows that made it.

use gpuledger_schema::bill::Bill;
use gpuledger_schema::table::StatementLineRow;

use super::bill::Billed;
use super::read::{as_closed, register_charges};
use super::{CloseError, Manifest};
use crate::bill::Period;
use crate::engine::{Engine, Params, bigint, text};
use crate::explain::{Section, Told, section};
use crate::lake::Lake;
use crate::report::{Reader, money};

/// The lines that a word means: an id, or all lines of a team.
///
/// # Errors
/// When there is none.
pub fn line_of<'a>(bill: &'a Bill, word: &str) -> Result<Vec<&'a StatementLineRow>, CloseError> {
    let id = word.parse::<i64>().ok();
    let found: Vec<_> = bill.lines.iter().filter(|l| id == Some(l.line_id) || l.team == word).collect();
    if found.is_empty() {
        return Err(CloseError::NoLine { period: bill.period.clone(), line: word.to_owned() });
    }
    Ok(found)
}

/// Why lines are what they are: each with its charges by run and device, rate, multipliers, owners, rules and versions. Of a closed
/// period all of that is as it was when it was closed.
///
/// # Errors
/// When a statement fails, or a version that the close named cannot be opened.
pub async fn explain_lines(
    lake: &Lake,
    reader: &Reader,
    of: &Period,
    billed: &Billed,
    lines: &[&StatementLineRow],
) -> Result<Vec<Told>, CloseError> {
    let manifest = Manifest::find(lake, &of.name).await?;
    let work = as_closed(lake, reader, of).await?;
    register_charges(work.engine(), "bill_charge", &billed.charges)?;
    let made_from = made_from(&work, manifest.as_ref());
    let mut out = Vec::new();
    for line in lines {
        let mut sections = one(work.engine(), of, line).await?;
        sections.push(made_from.clone());
        out.push(Told { sections });
    }
    Ok(out)
}

/// A line with what made it; `bill_charge` is there.
async fn one(engine: &Engine, of: &Period, line: &StatementLineRow) -> Result<Vec<Section>, CloseError> {
    let id = Params::from([("line_id", bigint(line.line_id))]);
    let mut sections = vec![upright(of, line)];
    let mut add = |heading: &str, rows: crate::explain::Rows| -> Result<(), CloseError> {
        sections.push(section(heading, &rows.0, &rows.1, of.zone)?);
        Ok(())
    };
    let charges = "charges: quantity_ms x price_micros = exact; exact / 3 600 000 / 10^6 is money (`gpuledger explain CLUSTER/JOB` goes on)";
    add(charges, engine.run("close/50_line_charge", &id).await?)?;
    if let Some(rate) = line.rate_id {
        let params = Params::from([("rate_id", bigint(rate))]);
        add("rate", engine.run("close/51_line_rate", &params).await?)?;
    }
    if let Some(names) = &line.discount {
        let params = Params::from([("names", text(names))]);
        add("multipliers of the price", engine.run("close/52_line_discount", &params).await?)?;
    }
    if !line.platform {
        let params = Params::from([("line_id", bigint(line.line_id)), ("team", text(&line.team))]);
        add("owner rows that can name the team", engine.run("close/53_line_owner", &params).await?)?;
    }
    Ok(sections)
}

/// The line, a row per column.
fn upright(of: &Period, l: &StatementLineRow) -> Section {
    let text = |t: &Option<String>| t.clone().unwrap_or_else(|| "-".to_owned());
    let price = |p: Option<i64>| p.map_or_else(|| "-".to_owned(), |p| money(i128::from(p), 6, false));
    let minor = |m: i64| format!("{} {}", money(i128::from(m), of.currency.digits(), true), of.currency.code());
    let facts = [
        ("line", l.line_id.to_string()),
        ("period", l.period.clone()),
        ("kind", l.kind.clone()),
        ("corrects", text(&l.corrects)),
        ("team", l.team.clone()),
        ("cost centre", text(&l.cost_center)),
        ("pool / tier / model", format!("{} / {} / {}", text(&l.pool), text(&l.tier), text(&l.model))),
        ("task type", text(&l.task_type)),
        ("mode", text(&l.mode)),
        ("list price per GPU-hour", price(l.list_price_micros)),
        ("price per GPU-hour", price(l.price_micros)),
        ("multipliers", text(&l.discount)),
        ("quantity_ms", l.quantity_ms.to_string()),
        ("exact (ms x millionths)", l.exact.to_string()),
        ("amount", minor(l.amount_minor)),
        ("of it waste", minor(l.waste_minor)),
        ("at list price", minor(l.list_minor)),
        ("reason", text(&l.reason)),
        ("approver", text(&l.approver)),
    ];
    Section {
        heading: "line".to_owned(),
        header: vec!["fact".to_owned(), "value".to_owned()],
        rows: facts.into_iter().map(|(fact, value)| vec![fact.to_owned(), value]).collect(),
    }
}

fn made_from(reader: &Reader, manifest: Option<&Manifest>) -> Section {
    let mut rows = match manifest {
        Some(m) => vec![
            vec!["close".to_owned(), m.close_id.clone()],
            vec!["output sha256".to_owned(), m.output_sha256.clone()],
            vec!["rules sha256".to_owned(), m.rules_sha256.clone()],
            vec!["program".to_owned(), m.program.clone()],
        ],
        None => vec![vec!["rules sha256".to_owned(), super::manifest::rules_sha256(&super::manifest::rules())]],
    };
    rows.extend(reader.versions().into_iter().map(|(table, version)| vec![table, version]));
    Section {
        heading: "made from (rules, and versions of the lake's tables)".to_owned(),
        header: vec!["what".to_owned(), "version".to_owned()],
        rows,
    }
}
