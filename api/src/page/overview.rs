//! Overview: the month in one look. Where did the capacity go, where will money end, what is wasted, what waits for somebody.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::answer::{Answers, Report, Row};
use super::chart::{self, Class, Curve, Forecast, Part as Piece, Series};
use super::number::Decimal;
use super::part::part;
use super::table::{Col, Kind, Shown, Table};
use super::template::value;
use super::view::View;
use super::{Body, case, waste};

/// A class in words and numbers.
#[derive(Debug, Serialize)]
pub(super) struct ClassRow {
    class: &'static str,
    name: String,
    hours: String,
    share: String,
    money: Option<String>,
    note: Option<String>,
    href: String,
}

/// The capacity bar and its table.
#[derive(Debug, Serialize)]
struct Capacity {
    svg: Value,
    rows: Vec<ClassRow>,
    hours: String,
    money: Option<String>,
    currency: Option<String>,
    csv: String,
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let currency = answers.report("daily").and_then(|r| r.currency()).unwrap_or_default();
    let fields = minijinja::context! {
        capacity => value(part(answers, "usage", |r| capacity(view, answers, r))),
        month => value(part(answers, "daily", |r| spending(view, answers, r))),
        budgets => value(part(answers, "budgets", |r| budgets(view, r))),
        wastes => value(part(answers, "findings", |r| waste::short(view, r))),
        cases => value(part(answers, "cases", |r| case::table(view, r, "cases", 5))),
        health => value(part(answers, "daily", |r| data_health(view, answers, r))),
        loops => value(part(answers, "loops", |r| loops(view, r))),
        watch => value(part(answers, "watch", |r| watch(view, r))),
        more => minijinja::context! {
            waste => view.link("/waste", &[]), cases => view.link("/reclaim", &[]), charges => view.link("/chargeback", &[]),
        },
        currency => currency,
    };
    Body { template: "overview.html", sentence: sentence(view, answers), fields }
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    let usage = answers.report("usage")?.whole()?;
    let hours = |column: &str| usage.number(column).map(|n| n.show(1));
    let month = view.month_words();
    let (held, capacity) = (hours("held_hours")?, hours("capacity_hours")?);
    let money = answers.report("daily").and_then(|r| {
        let total = r.whole()?;
        Some((
            total.number("charge")?.show_all(),
            total.number("waste").map(Decimal::show_all),
            r.currency()?.to_owned(),
        ))
    });
    let Some(idle) = hours("held_idle_hours") else {
        return Some(
            view.say("overview.sentence_unmeasured", &[("month", &month), ("held", &held), ("capacity", &capacity)]),
        );
    };
    let base = [("month", month.as_str()), ("held", &held), ("capacity", &capacity), ("idle", &idle)];
    Some(match money {
        Some((_, Some(waste), currency)) => {
            let args = [base.as_slice(), &[("waste", &waste), ("currency", &currency)]].concat();
            view.say("overview.sentence", &args)
        }
        _ => view.say("overview.sentence_unpriced", &base),
    })
}

/// Rows of the six classes of a usage row.
pub(super) fn class_rows(view: &View, usage: Row<'_>, charge: Option<Row<'_>>) -> Vec<ClassRow> {
    let capacity = usage.number("capacity_hours").unwrap_or(Decimal::ZERO);
    let money = |column: &str| charge.and_then(|c| c.number(column)).map(Decimal::show_all);
    // what was charged and is not waste: busy and not measured have one price, and no part of it is guessed
    let used = charge.and_then(|c| Some(c.number("charge")?.less(c.number("waste")?).show_all()));
    let row = |class: Class| {
        let hours = usage.number(class.hours());
        let part = hours.map(|h| h.per_mille_of(capacity));
        let (money, note) = match class {
            Class::Busy => (used.clone(), used.as_ref().map(|_| view.word("overview.busy_money"))),
            Class::Idle => (money("waste"), None),
            Class::Unmeasured => (None, used.as_ref().map(|_| view.word("overview.unmeasured_money"))),
            Class::Unallocated => (money("unallocated_cost"), None),
            Class::Unavailable => (money("unavailable_cost"), None),
            Class::Unobserved => (money("unobserved_cost"), None),
        };
        ClassRow {
            class: class.word(),
            name: super::words::listed(view.lang, "class", class.word()),
            hours: hours.map_or_else(|| view.word("unknown"), |h| h.show(1)),
            share: part.map_or_else(|| view.word("unknown"), |p| Decimal::whole(p).tenths()),
            money,
            note,
            href: view.link("/fleet", &[]),
        }
    };
    Class::ALL.into_iter().map(row).collect()
}

/// The bar of a usage row.
pub(super) fn class_bar(view: &View, id: &str, usage: Row<'_>) -> String {
    let pieces: Vec<Piece> = Class::ALL
        .into_iter()
        .map(|class| {
            let hours = usage.number(class.hours()).map_or_else(|| view.word("unknown"), |h| h.show(1));
            let name = super::words::listed(view.lang, "class", class.word());
            let says = view.say("class.says", &[("class", &name), ("hours", &hours)]);
            Piece { class, size: usage.size(class.hours()), says }
        })
        .collect();
    let told = pieces.iter().map(|p| p.says.as_str()).collect::<Vec<_>>().join("; ");
    chart::bar(id, &pieces, &view.word("overview.bar"), &told)
}

fn capacity(view: &View, answers: &Answers, usage: Report<'_>) -> Option<Capacity> {
    let row = usage.whole()?;
    let charges = answers.report("daily");
    let charge = charges.and_then(|c| c.whole());
    let sum = charge.and_then(|c| {
        let parts = ["unallocated_cost", "unavailable_cost", "unobserved_cost", "unbilled", "to_settle"];
        let more = parts.iter().filter_map(|p| c.number(p)).fold(c.number("charge")?, Decimal::plus);
        // what teams took over of the platform's is in their charges already
        Some(c.number("shared_out").map_or(more, |out| more.plus(out)))
    });
    Some(Capacity {
        svg: Value::from_safe_string(class_bar(view, "capacity-bar", row)),
        rows: class_rows(view, row, charge),
        hours: row.number("capacity_hours")?.show(1),
        money: sum.map(Decimal::show_all),
        currency: charges.and_then(|c| c.currency()).map(str::to_owned),
        csv: View::api("/usage", &[("month", &view.month), ("tz", &view.zone), ("format", "csv")]),
    })
}

/// Spending of the month by day, against budget, with a forecast.
#[derive(Debug, Serialize)]
struct Spending {
    svg: Value,
    says: String,
    table: Table,
}

const DAYS: [Col; 5] = [
    Col::new("day", "head.day", Kind::Text),
    Col::new("held_hours", "head.held", Kind::Hours)
        .to(|v, r| Some(v.rows_of("/charges", "team,cluster,job", &[("day", r.word("day"))]))),
    Col::new("held_idle_hours", "head.waste_hours", Kind::Hours),
    Col::new("charge", "head.charge", Kind::Money),
    Col::new("waste", "head.waste", Kind::Money),
];

fn spending(view: &View, answers: &Answers, daily: Report<'_>) -> Option<Spending> {
    let (_, last) = view.days()?;
    let steps = chrono::Datelike::day(&last) as usize;
    let rows = daily.rows();
    let mut by_day: Vec<Option<Decimal>> = vec![None; steps];
    for row in &rows {
        let day: usize = row.word("day").get(8..10)?.parse().ok()?;
        if let Some(place) = day.checked_sub(1).and_then(|i| by_day.get_mut(i)) {
            *place = row.number("charge");
        }
    }
    let known = by_day.iter().rposition(Option::is_some)?;
    let mut sum = Decimal::ZERO;
    let values: Vec<Option<i128>> = by_day
        .iter()
        .enumerate()
        .map(|(i, v)| {
            sum = sum.plus(v.unwrap_or(Decimal::ZERO));
            (i <= known).then(|| sum.scaled(2))
        })
        .collect();
    let forecast = forecast(answers, last);
    let limit = forecast.as_ref().and_then(|f| f.budget);
    let top = [Some(sum.scaled(2)), forecast.as_ref().map(|f| f.band.high), limit].into_iter().flatten().max()?.max(1);
    let currency = daily.currency().unwrap_or_default();
    let money = |v: i128| format!("{} {currency}", Decimal::hundredths(v).show(0));
    let charged =
        daily.whole().and_then(|t| t.number("charge")).map_or_else(|| view.word("unknown"), Decimal::show_all);
    let day = (known + 1).to_string();
    let says = match &forecast {
        Some(f) => {
            let args = [
                ("charge", charged.as_str()),
                ("currency", currency),
                ("day", &day),
                ("low", &f.low),
                ("high", &f.high),
            ];
            view.say("overview.spent_forecast", &args)
        }
        None => view.say("overview.spent", &[("charge", &charged), ("currency", currency), ("day", &day)]),
    };
    let labels = [0, steps / 4, steps / 2, 3 * steps / 4, steps - 1].map(|i| (i, (i + 1).to_string()));
    let series = Series {
        curves: vec![Curve { class: "money", name: view.word("head.charge"), values }],
        labels: labels.into(),
        steps,
        limit: limit.map(|l| (l, view.say("overview.budget_line", &[("amount", &money(l))]))),
        forecast: forecast.map(|f| f.band),
        top: (top, money(top)),
    };
    let svg = chart::series("spending", &series, &view.word("overview.spending"), &says);
    let shown = Shown { id: "days", caption: "overview.days", empty: "empty.charges", columns: &DAYS, most: 31 };
    let csv = View::api("/charges", &[("month", &view.month), ("tz", &view.zone), ("step", "day"), ("format", "csv")]);
    Some(Spending { svg: Value::from_safe_string(svg), says, table: Table::of(view, daily, shown, Some(csv)) })
}

struct Expected {
    band: Forecast,
    budget: Option<i128>,
    low: String,
    high: String,
}

/// What budgets of all teams together expect at the end of the month, where each ends with it.
fn forecast(answers: &Answers, last: chrono::NaiveDate) -> Option<Expected> {
    let rows = answers.report("budgets")?.rows();
    let end = last.succ_opt()?.to_string();
    let of: Vec<Row<'_>> = rows.into_iter().filter(|r| r.word("to").starts_with(&end)).collect();
    let sum = |column: &str| of.iter().map(|r| r.number(column)).try_fold(Decimal::ZERO, |a, b| b.map(|b| a.plus(b)));
    if of.is_empty() {
        return None;
    }
    let (low, middle, high) = (sum("low")?, sum("run_rate")?, sum("high")?);
    let band = Forecast { low: low.scaled(2), middle: middle.scaled(2), high: high.scaled(2) };
    Some(Expected { band, budget: sum("budget").map(|b| b.scaled(2)), low: low.show_all(), high: high.show_all() })
}

const BUDGETS: [Col; 7] = [
    Col::new("team", "head.team", Kind::Text)
        .to(|v, r| Some(v.link("/chargeback/statement", &[("team", &r.word("team"))]))),
    Col::new("budget", "head.budget", Kind::Money),
    Col::new("spent", "head.spent", Kind::Money),
    Col::new("used", "head.used_of_budget", Kind::Percent),
    Col::new("low", "head.low", Kind::Money),
    Col::new("high", "head.high", Kind::Money),
    Col::new("reached", "head.reached", Kind::Text),
];

fn budgets(view: &View, report: Report<'_>) -> Option<Table> {
    let shown =
        Shown { id: "budgets", caption: "overview.budgets", empty: "empty.budgets", columns: &BUDGETS, most: 12 };
    let csv = View::api("/budgets", &[("tz", &view.zone), ("format", "csv")]);
    (!report.rows().is_empty()).then(|| Table::of(view, report, shown, Some(csv)))
}

/// A line of data health.
#[derive(Debug, Serialize)]
struct Trouble {
    well: bool,
    text: String,
    href: Option<String>,
}

fn data_health(view: &View, answers: &Answers, daily: Report<'_>) -> Option<Vec<Trouble>> {
    let total = daily.whole()?;
    let mut out = Vec::new();
    let mut add = |column: &str, bad: &'static str, good: &'static str, path: &str| {
        let hours = total.number(column).filter(|h| !h.is_zero());
        let text = match hours {
            Some(h) => view.say(bad, &[("hours", &h.show(1))]),
            None => view.word(good),
        };
        let href = hours.map(|_| view.link(path, &[]));
        out.push(Trouble { well: hours.is_none(), text, href });
    };
    add("unpriced_hours", "health.unpriced", "health.priced", "/chargeback/close");
    add("held_unmeasured_hours", "health.unmeasured", "health.measured", "/fleet");
    add("unobserved_hours", "health.unobserved", "health.observed", "/fleet");
    let unowned = answers.report("teams").map(|r| {
        let found = r.rows().into_iter().find(|t| t.word("team") == "unassigned");
        found.and_then(|t| t.number("held_hours")).filter(|h| !h.is_zero())
    });
    match unowned {
        Some(Some(h)) => {
            let text = view.say("health.unowned", &[("hours", &h.show(1))]);
            out.push(Trouble { well: false, text, href: Some(view.link("/chargeback", &[])) });
        }
        Some(None) => out.push(Trouble { well: true, text: view.word("health.owned"), href: None }),
        None => {}
    }
    Some(out)
}

/// The loops of the server that are in trouble, and how many there are.
fn loops(view: &View, report: Report<'_>) -> Option<Vec<Trouble>> {
    let all = report.document().as_object()?;
    let mut out = Vec::new();
    for (name, state) in all {
        if let Some(why) = state.get("trouble").and_then(serde_json::Value::as_str) {
            let text = view.say("health.loop", &[("name", name), ("why", why)]);
            out.push(Trouble { well: false, text, href: None });
        }
    }
    if out.is_empty() && !all.is_empty() {
        let text = view.say("health.loops", &[("count", &all.len().to_string())]);
        out.push(Trouble { well: true, text, href: None });
    }
    Some(out)
}

/// What stands wrong now, by kind.
fn watch(view: &View, report: Report<'_>) -> Option<Vec<Trouble>> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    report.rows().iter().for_each(|r| *kinds.entry(r.word("kind")).or_default() += 1);
    let trouble = |(kind, count): (String, usize)| {
        let kind = super::words::listed(view.lang, "watch", &kind);
        let text = view.say("health.watch", &[("kind", &kind), ("count", &count.to_string())]);
        Trouble { well: false, text, href: Some(format!("{}#watch", view.link("/fleet", &[]))) }
    };
    let mut out: Vec<Trouble> = kinds.into_iter().map(trouble).collect();
    if out.is_empty() {
        out.push(Trouble { well: true, text: view.word("health.watch_none"), href: None });
    }
    Some(out)
}
