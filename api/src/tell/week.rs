//! The week's digest of a team, from `report charge` by team and `report findings`.

use std::collections::BTreeMap;

use gpuledger_notify::notice::{Waste, WasteDigest};
use gpuledger_notify::{Language, Notice};
use serde_json::Value;

use super::figure::percent;
use super::link::Links;
use super::read::{Row, Trouble, rows};
use super::when::Stretch;

/// Findings that a mail names.
pub(super) const FINDINGS: usize = 5;

/// A finding of a document as a mail shows it, and what it is ordered by.
///
/// # Errors
/// A row lacks a column.
fn waste(row: Row<'_>, language: Language) -> Result<(i128, Waste), Trouble> {
    let remedy = if language == Language::Zh { "remedy_zh" } else { "remedy_en" };
    // time that was held and not used, else time that was asked for and not needed
    let idle = row.decimal("idle_hours")?.filter(|h| h.is_positive());
    let (hours, amount) = match idle {
        Some(idle) => (Some(idle), row.decimal("waste")?),
        None => (row.decimal("gap_hours")?, row.decimal("gap_cost")?),
    };
    let hours = hours.ok_or("a finding has no hours")?;
    let made = Waste {
        what: format!("{} {}", row.word("rule")?, row.word("subject")?),
        user: row.text("user")?.map(str::to_owned),
        hours: hours.to_digits(1).to_string(),
        amount: amount.map(|a| a.to_string()),
        remedy: row.text(remedy)?.unwrap_or_default().to_owned(),
    };
    Ok((amount.map_or(0, super::figure::Decimal::order), made))
}

/// The most expensive findings of each team that stand open, in the order of what they cost.
///
/// # Errors
/// A row lacks a column.
pub(super) fn by_team(findings: &Value, language: Language) -> Result<BTreeMap<String, Vec<Waste>>, Trouble> {
    let mut all: BTreeMap<String, Vec<(i128, Waste)>> = BTreeMap::new();
    for row in rows(findings, "rows")? {
        let (Some(team), Some("open")) = (row.text("team")?, row.text("state")?) else { continue };
        all.entry(team.to_owned()).or_default().push(waste(row, language)?);
    }
    let sorted = |mut list: Vec<(i128, Waste)>| {
        list.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        list.into_iter().take(FINDINGS).map(|(_, waste)| waste).collect()
    };
    Ok(all.into_iter().map(|(team, list)| (team, sorted(list))).collect())
}

/// The digest of every team that held something of which something was measured.
///
/// # Errors
/// A document lacks a column.
pub(super) fn digests(
    charges: &Value,
    findings: &Value,
    week: &Stretch,
    zone: &str,
    links: &Links,
    language: Language,
) -> Result<BTreeMap<String, Notice>, Trouble> {
    let currency = charges.get("currency").and_then(Value::as_str).ok_or("charges have no currency")?;
    let mut found = by_team(findings, language)?;
    let mut out = BTreeMap::new();
    for row in rows(charges, "rows")? {
        let Some(team) = row.text("team")?.map(str::to_owned) else { continue };
        let (held, idle, amount) = (row.decimal("held_hours")?, row.decimal("held_idle_hours")?, row.decimal("waste")?);
        let (Some(held), Some(idle), Some(amount)) = (held, idle, amount) else { continue };
        let Some(not_used_percent) = percent(idle.order(), held.order(), 0) else { continue };
        let digest = WasteDigest {
            from: week.first.clone(),
            to: week.last.clone(),
            zone: zone.to_owned(),
            currency: currency.to_owned(),
            held_hours: held.to_digits(1).to_string(),
            not_used_hours: idle.to_digits(1).to_string(),
            not_used_percent,
            amount: amount.to_string(),
            findings: found.remove(&team).unwrap_or_default(),
            page: links.waste(week.month(), &team),
            team: team.clone(),
        };
        out.insert(team, Notice::WasteDigest(digest));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Tz;
    use gpuledger_schema::window::instant;
    use serde_json::json;

    #[test]
    fn a_team_hears_of_its_own_findings_dearest_first() {
        let zone = Tz::Europe__Berlin;
        let week = super::super::when::week(instant("2026-11-02", zone).unwrap(), zone).unwrap();
        let charges = json!({"currency": "EUR", "rows": [
            {"team": "nlp", "held_hours": "2800.0000", "held_idle_hours": "1092.0400", "waste": "10920.40"},
            {"team": "vision", "held_hours": "10.0000", "held_idle_hours": null, "waste": null},
            {"team": "-", "held_hours": "0.0000", "held_idle_hours": "0.0000", "waste": "0.00"},
        ]});
        let finding = |team: &str, state: &str, subject: &str, idle: &str, waste: Value, gap: &str| {
            json!({"rule": "idle_since", "subject": subject, "team": team, "user": "ada", "state": state, "idle_hours": idle, "waste": waste,
                "gap_hours": gap, "gap_cost": "5.00", "remedy_en": "end it", "remedy_zh": "结束"})
        };
        let findings = json!({"rows": [
            finding("nlp", "open", "c/1", "1.0000", json!("10.00"), "0.0000"),
            finding("nlp", "open", "c/2", "30.0400", json!("300.40"), "0.0000"),
            finding("nlp", "dismissed", "c/3", "900.0000", json!("9000.00"), "0.0000"),
            finding("nlp", "open", "c/4", "0.0000", json!("0.00"), "7.0000"),
            finding("vision", "open", "c/5", "8.0000", Value::Null, "0.0000"),
        ]});
        let found = digests(&charges, &findings, &week, zone.name(), &Links::new(None), Language::En).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["nlp"], "of what nobody measured there is nothing to say");
        let Notice::WasteDigest(nlp) = &found["nlp"] else { panic!() };
        assert_eq!((nlp.not_used_hours.as_str(), nlp.not_used_percent.as_str()), ("1092.0", "39"));
        let shown: Vec<(&str, &str, Option<&str>)> =
            nlp.findings.iter().map(|w| (w.what.as_str(), w.hours.as_str(), w.amount.as_deref())).collect();
        assert_eq!(
            shown,
            [
                ("idle_since c/2", "30.0", Some("300.40")),
                ("idle_since c/1", "1.0", Some("10.00")),
                ("idle_since c/4", "7.0", Some("5.00")),
            ]
        );
        assert_eq!(nlp.page, "/waste?month=2026-11&team=nlp");
        let zh = by_team(&findings, Language::Zh).unwrap();
        assert_eq!((zh["nlp"][0].remedy.as_str(), &zh["vision"][0].amount), ("结束", &None));
    }
}
