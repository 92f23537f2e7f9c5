//! The half-year's assessment, from `report assessment`.

use gpuledger_notify::Notice;
use gpuledger_notify::notice::{Advice, AdviceKind, HealthAssessment, Trend, Verdict};
use serde_json::Value;

use super::figure::percent_of_share;
use super::link::Links;
use super::read::{Row, Trouble, rows};
use super::when::Stretch;
use crate::answer::currency_of;

/// The assessment; none where nothing is known of the fleet in that time.
///
/// # Errors
/// The document lacks a row or a word of it is not known.
pub(super) fn assessment(
    document: &Value,
    half: &Stretch,
    zone: &str,
    links: &Links,
) -> Result<Option<Notice>, Trouble> {
    let all = rows(document, "rows")?;
    let of = |what: &'static str| all.iter().copied().filter(move |row| row.text("what") == Ok(Some(what)));
    let Some(verdict) = of("verdict").next() else { return Ok(None) };
    let verdict = match verdict.word("word")?.as_str() {
        "good" => Verdict::Good,
        "watch" => Verdict::Watch,
        "poor" => Verdict::Poor,
        other => return Err(format!("`{other}` is no verdict")),
    };
    let figure = |word: &str| -> Result<Row<'_>, Trouble> {
        of("figure")
            .find(|row| row.text("word") == Ok(Some(word)))
            .ok_or_else(|| format!("there is no figure `{word}`"))
    };
    let trend = |word: &str| -> Result<Trend, Trouble> {
        let row = figure(word)?;
        let share = |name: &str| Ok::<_, Trouble>(row.text(name)?.and_then(|text| percent_of_share(text, 1)));
        let now = share("now")?.ok_or_else(|| format!("the figure `{word}` is not known"))?;
        Ok(Trend { now, before: share("before")? })
    };
    let advice = of("advice").map(advice).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Notice::HealthAssessment(HealthAssessment {
        from: half.first.clone(),
        to: half.last.clone(),
        zone: zone.to_owned(),
        currency: currency_of(document).to_owned(),
        gpus: figure("gpus")?.count("count")?.unwrap_or(0),
        verdict,
        allocated: trend("allocated")?,
        busy: trend("busy")?,
        not_used: trend("not_used")?,
        unavailable: trend("unavailable")?,
        unallocated: trend("unallocated")?,
        coverage: trend("coverage")?,
        advice,
        page: links.health(half.month()),
    })))
}

fn advice(row: Row<'_>) -> Result<Advice, Trouble> {
    let kind = match row.word("word")?.as_str() {
        "reclaim" => AdviceKind::Reclaim,
        "share" => AdviceKind::Share,
        "defragment" => AdviceKind::Defragment,
        "repair" => AdviceKind::Repair,
        "measure" => AdviceKind::Measure,
        "buy" => AdviceKind::Buy,
        "do_not_buy" => AdviceKind::DoNotBuy,
        other => return Err(format!("`{other}` is no advice")),
    };
    let hours = row.decimal("hours")?.ok_or("advice has no hours")?;
    Ok(Advice { kind, hours: hours.to_digits(1).to_string(), amount: row.decimal("cost")?.map(|c| c.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Tz;
    use gpuledger_schema::window::instant;
    use serde_json::json;

    fn row(what: &str, word: &str, now: Value, hours: Value, cost: Value, count: Value) -> Value {
        json!({"what": what, "word": word, "now": now, "before": null, "hours": hours, "cost": cost, "count": count})
    }

    #[test]
    fn an_assessment_has_its_verdict_figures_and_advice_and_none_without_capacity() {
        let half = super::super::when::half_year(instant("2026-07-02", Tz::UTC).unwrap(), Tz::UTC).unwrap();
        let mut all = vec![row("verdict", "watch", Value::Null, json!("100.0000"), Value::Null, Value::Null)];
        for word in ["allocated", "busy", "not_used", "unallocated", "unavailable", "coverage"] {
            all.push(row("figure", word, json!("0.497000"), json!("50.0000"), Value::Null, Value::Null));
        }
        all.push(row("figure", "gpus", Value::Null, Value::Null, Value::Null, json!(256)));
        all.push(row("advice", "measure", Value::Null, json!("1000.0400"), Value::Null, Value::Null));
        let document = json!({"currency": "EUR", "rows": all});
        let told = assessment(&document, &half, "UTC", &Links::new(None)).unwrap().unwrap();
        let Notice::HealthAssessment(told) = told else { panic!() };
        assert_eq!((told.verdict, told.gpus, told.busy.now.as_str()), (Verdict::Watch, 256, "49.7"));
        assert_eq!((told.busy.before, told.advice[0].amount.clone()), (None, None));
        assert_eq!(told.advice[0].hours, "1000.0");
        assert_eq!(told.page, "/health?month=2026-06");
        let nothing = json!({"currency": null, "rows": []});
        assert_eq!(assessment(&nothing, &half, "UTC", &Links::new(None)), Ok(None));
    }
}
