//! The month's bill as mails: to finance, and to the lead of each team, from the bill as JSON (`export --as json`).

use std::collections::BTreeMap;

use chrono_tz::Tz;
use gpuledger_notify::notice::{BudgetUse, FinanceStatement, LineShare, TeamShare, TeamStatement, Used, Waste};
use gpuledger_notify::{At, Notice};
use serde_json::Value;

use super::figure::{Decimal, hours_of_ms, percent, percent_of_share};
use super::link::Links;
use super::read::{Row, Trouble, rows};

/// Lines of a statement that a mail names.
const LINES: usize = 5;
/// Team of what nobody owns: there is no lead to tell.
pub(super) const UNASSIGNED: &str = "unassigned";

/// A bill, as far as mails tell of it.
#[derive(Debug)]
pub(super) struct Month<'a> {
    bill: &'a Value,
    period: String,
    zone: Tz,
    currency: String,
    digits: u32,
    /// When it was closed; absent: a draft.
    pub(super) closed: Option<At>,
    /// Hash of the lines of a close.
    pub(super) output_sha256: Option<String>,
}

/// What stands beside a team's bill.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// What the month before came to, by team.
    pub(super) before: BTreeMap<String, String>,
    /// Budgets by team.
    pub(super) budgets: BTreeMap<String, BudgetUse>,
    /// Findings by team, dearest first.
    pub(super) findings: BTreeMap<String, Vec<Waste>>,
}

impl<'a> Month<'a> {
    /// Reads the head of a bill.
    ///
    /// # Errors
    /// It is not the document that this version knows.
    pub(super) fn read(bill: &'a Value) -> Result<Self, Trouble> {
        let head = Row(bill);
        let format = head.word("format")?;
        if format != "gpuledger.bill/1" {
            return Err(format!("`{format}` is no bill that this version can read"));
        }
        let zone: Tz = head.word("zone")?.parse().map_err(|_| "the bill names no zone".to_owned())?;
        let state = Row(bill.get("state").ok_or("the bill has no state")?);
        let is_closed = state.word("state")? == "closed";
        let closed = if is_closed { Some(state.word("closed")?) } else { None };
        let instant = |text: String| {
            let read = chrono::DateTime::parse_from_rfc3339(&text).map_err(|_| format!("`{text}` is no instant"));
            read.map(|t| At { ms: t.timestamp_millis(), zone })
        };
        let digits = head.count("digits")?.and_then(|n| u32::try_from(n).ok()).ok_or("the bill has no digits")?;
        Ok(Self {
            bill,
            period: head.word("period")?,
            zone,
            currency: head.word("currency")?,
            digits,
            closed: closed.map(instant).transpose()?,
            output_sha256: if is_closed { Some(state.word("output_sha256")?) } else { None },
        })
    }

    /// Teams that pay, with what they pay.
    ///
    /// # Errors
    /// A statement lacks a field.
    pub(super) fn teams(&self) -> Result<BTreeMap<String, String>, Trouble> {
        let amount = |row: Row<'_>| Ok((row.word("team")?, row.word("amount")?));
        rows(self.bill, "statements")?.into_iter().map(amount).collect()
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.bill.get("notes").and_then(Value::as_array);
        notes.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn sum(&self, of: &[Row<'_>], field: &str) -> Result<String, Trouble> {
        let mut sum = Decimal::zero(self.digits);
        for row in of {
            sum = sum.plus(row.decimal(field)?.ok_or_else(|| format!("a line has no `{field}`"))?);
        }
        Ok(sum.to_string())
    }

    fn lines(&self, of: impl Fn(&Row<'a>) -> bool) -> Result<Vec<Row<'a>>, Trouble> {
        Ok(rows(self.bill, "lines")?.into_iter().filter(of).collect())
    }

    /// The bill for finance; `more` are notes beside those of the bill.
    ///
    /// # Errors
    /// The bill lacks a field.
    pub(super) fn finance(&self, links: &Links, more: &[String]) -> Result<Notice, Trouble> {
        let total = Row(self.bill.get("total").ok_or("the bill has no total")?);
        let conservation = Row(self.bill.get("conservation").ok_or("the bill has no conservation")?);
        let mut teams = Vec::new();
        for row in rows(self.bill, "statements")? {
            let amount = row.decimal("amount")?.ok_or("a statement has no amount")?;
            teams.push((amount.order(), share(row)?));
        }
        teams.sort_by_key(|(amount, share)| (std::cmp::Reverse(*amount), share.team.clone()));
        let kind = |row: &Row<'_>, kind: &str| row.text("kind") == Ok(Some(kind));
        let corrections = self.lines(|l| kind(l, "correction") && l.0.get("platform") == Some(&Value::Bool(false)))?;
        let (held, covered) = (total.ms("held_ms")?.unwrap_or(0), total.ms("covered_ms")?.unwrap_or(0));
        let page = links.statement(&self.period, None);
        Ok(Notice::StatementFinance(FinanceStatement {
            period: self.period.clone(),
            zone: self.zone.name().to_owned(),
            currency: self.currency.clone(),
            closed: self.closed,
            output_sha256: self.output_sha256.clone(),
            billed: total.word("amount")?,
            platform: self.sum(&rows(self.bill, "platform")?, "amount")?,
            fleet: conservation.word("fleet")?,
            corrections: self.sum(&corrections, "amount")?,
            coverage_percent: percent(covered, held, 1),
            teams: teams.into_iter().map(|(_, share)| share).collect(),
            notes: [self.notes(), more.to_vec()].concat(),
            exports: page.clone(),
            page,
        }))
    }

    /// A team's bill for its lead.
    ///
    /// # Errors
    /// The bill has no statement of the team, or lacks a field.
    pub(super) fn team(&self, team: &str, beside: &Beside, links: &Links, more: &[String]) -> Result<Notice, Trouble> {
        let all = rows(self.bill, "statements")?;
        let row = all.into_iter().find(|row| row.text("team") == Ok(Some(team)));
        let row = row.ok_or_else(|| format!("the bill has no statement of {team}"))?;
        let of_team =
            self.lines(|l| l.text("team") == Ok(Some(team)) && l.0.get("platform") == Some(&Value::Bool(false)))?;
        let shared: Vec<Row<'_>> = of_team
            .iter()
            .copied()
            .filter(|l| l.text("kind").is_ok_and(|k| k.is_some_and(|k| k.starts_with("shared_"))))
            .collect();
        let held = row.ms("held_ms")?.unwrap_or(0);
        let unmeasured = row.ms("held_unmeasured_ms")?.unwrap_or(0);
        Ok(Notice::StatementLead(TeamStatement {
            team: team.to_owned(),
            period: self.period.clone(),
            zone: self.zone.name().to_owned(),
            currency: self.currency.clone(),
            closed: self.closed,
            amount: row.word("amount")?,
            shared_amount: self.sum(&shared, "amount")?,
            held_hours: hours_of_ms(held),
            used: used(row, held)?,
            unmeasured_hours: hours_of_ms(unmeasured),
            unmeasured_percent: percent(unmeasured, held, 0),
            previous_amount: beside.before.get(team).cloned(),
            budget: beside.budgets.get(team).cloned(),
            lines: self.largest(&of_team)?,
            findings: beside.findings.get(team).cloned().unwrap_or_default(),
            notes: more.to_vec(),
            page: links.statement(&self.period, Some(team)),
            findings_page: links.waste(&self.period, team),
        }))
    }

    /// The largest lines of a team, by model and task type; those that are not its use by their kind.
    fn largest(&self, lines: &[Row<'_>]) -> Result<Vec<LineShare>, Trouble> {
        let mut by_what: BTreeMap<String, (i128, Decimal)> = BTreeMap::new();
        for line in lines {
            let kind = line.word("kind")?;
            let names: Vec<&str> =
                ["model", "task_type"].into_iter().filter_map(|n| line.text(n).ok().flatten()).collect();
            let what = if kind == "use" && !names.is_empty() { names.join(", ") } else { kind };
            let amount = line.decimal("amount")?.ok_or("a line has no amount")?;
            let sums = by_what.entry(what).or_insert((0, Decimal::zero(self.digits)));
            *sums = (sums.0 + line.ms("quantity_ms")?.unwrap_or(0), sums.1.plus(amount));
        }
        let mut all: Vec<(String, (i128, Decimal))> = by_what.into_iter().collect();
        all.sort_by_key(|(_, (_, amount))| std::cmp::Reverse(amount.order()));
        let shown = |(what, (ms, amount)): (String, (i128, Decimal))| LineShare {
            what,
            hours: hours_of_ms(ms),
            amount: amount.to_string(),
        };
        Ok(all.into_iter().take(LINES).map(shown).collect())
    }
}

fn share(row: Row<'_>) -> Result<TeamShare, Trouble> {
    let held = row.ms("held_ms")?.unwrap_or(0);
    let idle = row.ms("held_idle_ms")?;
    Ok(TeamShare {
        team: row.word("team")?,
        held_hours: hours_of_ms(held),
        not_used_percent: idle.and_then(|idle| percent(idle, held, 0)),
        amount: row.word("amount")?,
    })
}

/// What was measured of held time; none where nothing was.
fn used(row: Row<'_>, held: i128) -> Result<Option<Used>, Trouble> {
    let (busy, idle, waste) = (row.ms("busy_ms")?, row.ms("held_idle_ms")?, row.text("waste")?);
    let (Some(busy), Some(idle), Some(waste)) = (busy, idle, waste) else { return Ok(None) };
    let parts = percent(busy, held, 0).zip(percent(idle, held, 0));
    Ok(parts.map(|(busy_percent, not_used_percent)| Used {
        busy_hours: hours_of_ms(busy),
        busy_percent,
        not_used_hours: hours_of_ms(idle),
        not_used_percent,
        not_used_amount: waste.to_owned(),
    }))
}

/// How much of their budgets in money teams have used, from `report budgets`.
///
/// # Errors
/// A row lacks a column.
pub(super) fn budgets(document: &Value) -> Result<BTreeMap<String, BudgetUse>, Trouble> {
    let mut out = BTreeMap::new();
    for row in rows(document, "rows")? {
        let used_percent = row.text("used")?.and_then(|text| percent_of_share(text, 0));
        if let (Some(budget), Some(used_percent)) = (row.text("budget")?, used_percent) {
            out.insert(row.word("team")?, BudgetUse { budget: budget.to_owned(), used_percent });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sums(team: Option<&str>, held_h: i128, busy_h: Option<i128>, amount: &str, waste: Option<&str>) -> Value {
        let ms = |h: i128| (h * 3_600_000).to_string();
        json!({
            "team": team, "lines": 1, "held_ms": ms(held_h), "busy_ms": busy_h.map(ms), "held_idle_ms": busy_h.map(|b| ms(held_h - b)),
            "held_unmeasured_ms": if busy_h.is_some() { "0".to_owned() } else { ms(held_h) },
            "covered_ms": busy_h.map_or_else(|| "0".to_owned(), |_| ms(held_h)), "amount": amount, "waste": waste,
        })
    }

    fn line(team: &str, platform: bool, kind: &str, model: Option<&str>, hours: i128, amount: &str) -> Value {
        json!({"team": team, "platform": platform, "kind": kind, "model": model, "task_type": model.map(|_| "train"),
            "quantity_ms": (hours * 3_600_000).to_string(), "amount": amount})
    }

    fn bill(state: Value) -> Value {
        json!({
            "format": "gpuledger.bill/1", "period": "2026-10", "zone": "Europe/Berlin", "currency": "EUR", "digits": 2, "state": state,
            "total": sums(None, 300, Some(180), "1000.00", Some("480.00")),
            "statements": [sums(Some("nlp"), 100, Some(61), "300.50", Some("117.00")), sums(Some("vision"), 200, None, "699.50", None)],
            "platform": [{"kind": "unallocated", "amount": "50.00"}, {"kind": "shared_out", "amount": "-10.00"}],
            "conservation": {"fleet": "1042.00"},
            "notes": ["12.5 held GPU-hours have no price and are in no amount."],
            "lines": [
                line("nlp", false, "use", Some("H200"), 90, "250.00"), line("nlp", false, "use", Some("H200"), 10, "40.00"),
                line("nlp", false, "shared_unallocated", Some("H200"), 5, "12.50"), line("nlp", false, "correction", None, 0, "-2.00"),
                line("vision", false, "use", Some("A100"), 200, "699.50"), line("(platform)", true, "unallocated", Some("H200"), 9, "50.00"),
                line("(platform)", true, "correction", None, 0, "7.00"),
            ],
        })
    }

    #[test]
    fn finance_hears_what_was_billed_and_what_stays() {
        let closed =
            json!({"state": "closed", "close_id": "x", "closed": "2026-11-04T08:00:00Z", "output_sha256": "5d5d"});
        let bill = bill(closed);
        let month = Month::read(&bill).unwrap();
        let Notice::StatementFinance(told) = month.finance(&Links::new(None), &["no PDF".to_owned()]).unwrap() else {
            panic!()
        };
        assert_eq!(
            (told.billed.as_str(), told.platform.as_str(), told.fleet.as_str()),
            ("1000.00", "40.00", "1042.00")
        );
        assert_eq!((told.corrections.as_str(), told.coverage_percent.as_deref()), ("-2.00", Some("100.0")));
        assert_eq!(told.teams.iter().map(|t| t.team.as_str()).collect::<Vec<_>>(), ["vision", "nlp"], "dearest first");
        assert_eq!(told.teams[0].not_used_percent, None, "nothing was measured: that is not 0 %");
        assert_eq!((told.notes.len(), told.output_sha256.as_deref()), (2, Some("5d5d")));
        assert!(told.closed.unwrap().in_words().starts_with("2026-11-04 09:00 Europe/Berlin"));
    }

    #[test]
    fn a_lead_hears_of_their_team_alone() {
        let bill = bill(json!({"state": "draft", "cut": 5, "as_of": "2026-11-01T00:00:00Z"}));
        let month = Month::read(&bill).unwrap();
        let beside = Beside {
            before: BTreeMap::from([("nlp".to_owned(), "280.00".to_owned())]),
            budgets: budgets(&json!({"rows": [
                {"team": "nlp", "budget": "500.00", "used": "0.601000"}, {"team": "vision", "budget": null, "used": null},
            ]})).unwrap(),
            findings: BTreeMap::new(),
        };
        let Notice::StatementLead(nlp) = month.team("nlp", &beside, &Links::new(None), &[]).unwrap() else { panic!() };
        assert_eq!((nlp.closed, nlp.amount.as_str(), nlp.shared_amount.as_str()), (None, "300.50", "12.50"));
        let used = nlp.used.unwrap();
        assert_eq!(
            (used.busy_hours.as_str(), used.busy_percent.as_str(), used.not_used_percent.as_str()),
            ("61.0", "61", "39")
        );
        assert_eq!((nlp.previous_amount.as_deref(), nlp.budget.unwrap().used_percent.as_str()), (Some("280.00"), "60"));
        let lines: Vec<(&str, &str, &str)> =
            nlp.lines.iter().map(|l| (l.what.as_str(), l.hours.as_str(), l.amount.as_str())).collect();
        assert_eq!(
            lines,
            [
                ("H200, train", "100.0", "290.00"),
                ("shared_unallocated", "5.0", "12.50"),
                ("correction", "0.0", "-2.00")
            ]
        );
        let Notice::StatementLead(vision) = month.team("vision", &beside, &Links::new(None), &[]).unwrap() else {
            panic!()
        };
        assert_eq!((vision.used, vision.budget, vision.unmeasured_percent.as_deref()), (None, None, Some("100")));
        assert!(month.team("nobody", &beside, &Links::new(None), &[]).unwrap_err().contains("nobody"));
    }

    #[test]
    fn a_bill_of_another_shape_is_refused() {
        let mut other = bill(json!({"state": "draft"}));
        other["format"] = json!("gpuledger.bill/2");
        assert!(Month::read(&other).unwrap_err().contains("gpuledger.bill/2"));
    }
}
