//! Fleet: classes over time, what each card did, three losses, fragmentation, quota, what is out of order, the census.

use std::collections::BTreeMap;

use gpuledger_schema::unit::HOUR_MS;
use gpuledger_schema::window::show_ms;
use minijinja::Value;
use serde::Serialize;

use super::Body;
use super::answer::{Answers, Report, Row};
use super::chart::{self, Class, Column, Heat};
use super::number::Decimal;
use super::part::part;
use super::table::{Col, Drawn, Kind, Shown, Table};
use super::template::value;
use super::view::View;

mod tables;

use tables::{ASSETS, CENSUS, FRAGMENTS, POOLS, QUOTA, WATCH};

/// One of the three losses.
#[derive(Debug, Serialize)]
struct Loss {
    name: String,
    hours: String,
    says: String,
}

const OVER_TIME: [Col; 9] = [
    Col::new("day", "head.day", Kind::Text),
    Col::new("busy_hours", "head.busy", Kind::Hours)
        .to(|v, r| Some(v.rows_of("/usage", "node,device,job", &[("day", r.word("day"))]))),
    Col::new("held_idle_hours", "head.idle", Kind::Hours),
    Col::new("held_unmeasured_hours", "head.unmeasured", Kind::Hours),
    Col::new("unallocated_hours", "head.unallocated", Kind::Hours),
    Col::new("unavailable_hours", "head.unavailable", Kind::Hours),
    Col::new("unobserved_hours", "head.unobserved", Kind::Hours),
    Col::new("capacity_hours", "head.capacity", Kind::Hours),
    Col::new("coverage", "head.coverage", Kind::Percent),
];

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let table = |name: &str, shown: Shown<'_>, path: &str| {
        let with = [("month", view.month.as_str()), ("tz", &view.zone), ("format", "csv")];
        let csv = View::api(path, &with);
        value(part(answers, name, |r| (!r.rows().is_empty()).then(|| Table::of(view, r, shown, Some(csv)))))
    };
    let fields = minijinja::context! {
        days => value(part(answers, "usage_day", |r| over_time(view, r))),
        map => value(part(answers, "hours", |r| map(view, answers, r))),
        week => value(part(answers, "week", |r| week(view, r))),
        losses => value(part(answers, "fleet", |r| losses(view, answers, r))),
        pools => table("fleet", Shown { id: "pools", caption: "fleet.pools", empty: "empty.fleet", columns: &POOLS, most: 40 }, "/fleet"),
        fragments => table("fragmentation", FRAGMENTS, "/fleet/fragmentation"),
        quota => table("quota", QUOTA, "/fleet/quota"),
        assets => table("assets", ASSETS, "/fleet/assets"),
        census => table("census", CENSUS, "/fleet/census"),
        watch => value(part(answers, "watch", |r| {
            (!r.rows().is_empty()).then(|| Table::of(view, r, WATCH, Some(View::api("/watch", &[("tz", &view.zone), ("format", "csv")]))))
        })),
        broken => value(part(answers, "cards", |r| broken(view, r))),
        shades => value(chart::shades()),
    };
    Body { template: "fleet.html", sentence: sentence(view, answers), fields }
}

fn sentence(view: &View, answers: &Answers) -> Option<String> {
    let row = answers.report("fleet")?.whole()?;
    let percent = |name: &str| row.number(name).map_or_else(|| view.word("unknown"), Decimal::percent);
    let held = row.number("held_hours")?.show(1);
    let args = [
        ("month", view.month_words()),
        ("held", held),
        ("allocated", percent("allocation_rate")),
        ("busy", percent("busy_rate")),
        ("effective", percent("effective_rate")),
    ];
    Some(view.say("fleet.sentence", &args.each_ref().map(|(n, v)| (*n, v.as_str()))))
}

fn over_time(view: &View, report: Report<'_>) -> Option<Drawn> {
    let rows = report.rows();
    let column = |row: &Row<'_>| {
        let mut told = vec![row.word("day")];
        let sizes = Class::ALL.map(|class| {
            if let Some(hours) = row.number(class.hours()).filter(|h| !h.is_zero()) {
                let name = super::words::listed(view.lang, "class", class.word());
                told.push(view.say("class.says", &[("class", &name), ("hours", &hours.show(1))]));
            }
            row.size(class.hours())
        });
        let day = row.word("day");
        Column { label: day.get(8..10).unwrap_or(&day).to_owned(), sizes, says: told.join(", ") }
    };
    let columns: Vec<Column> = rows.iter().map(column).collect();
    let top = rows.iter().filter_map(|r| r.number("capacity_hours")).max_by(|a, b| a.order(*b))?;
    let top = view.say("unit.hours", &[("hours", &top.show(0))]);
    let whole = report.whole();
    let told: Vec<String> = Class::ALL
        .into_iter()
        .filter_map(|class| {
            let hours = whole?.number(class.hours())?.show(1);
            let name = super::words::listed(view.lang, "class", class.word());
            Some(view.say("class.says", &[("class", &name), ("hours", &hours)]))
        })
        .collect();
    let svg = chart::stack("over-time", &columns, &top, &view.word("fleet.over_time"), &told.join("; "));
    let csv = View::api("/usage", &[("month", &view.month), ("tz", &view.zone), ("step", "day"), ("format", "csv")]);
    let shown = Shown { id: "over", caption: "fleet.over_time", empty: "empty.fleet", columns: &OVER_TIME, most: 31 };
    (!rows.is_empty())
        .then(|| Drawn { svg: Value::from_safe_string(svg), table: Table::of(view, report, shown, Some(csv)) })
}

/// Cards of a map at most: more have the table alone.
const CARDS: usize = 160;
/// Cards of the table beside it at most: all are in the file that it names.
const SUMMED: usize = 20;
/// Hours of a map at most: those of the longest month.
const HOURS: usize = 745;

/// Each card by hour; the table beside has the sums of each.
fn map(view: &View, answers: &Answers, hours: Report<'_>) -> Option<Drawn> {
    let node = view.chosen("node");
    let of_node = |r: &Row<'_>| node.is_none_or(|n| r.word("node") == n);
    let rows: Vec<Row<'_>> = hours.rows().into_iter().filter(|r| r.word("device") != "-").filter(of_node).collect();
    let from_ms: i64 = rows.first()?.word("from_ms").parse().ok()?;
    // of more the newest
    let before = rows.iter().map(|r| r.word("hours").len()).max()?.saturating_sub(HOURS);
    let from_ms = from_ms + i64::try_from(before).unwrap_or(0) * HOUR_MS;
    let line = |r: &Row<'_>| {
        let cells = r.word("hours").chars().skip(before).map(Heat::told).collect();
        (format!("{} {}", r.word("node"), tail(&r.word("device"))), cells)
    };
    let drawn: Vec<(String, Vec<Option<Heat>>)> = rows.iter().take(CARDS).map(line).collect();
    let steps = drawn.iter().map(|(_, cells)| cells.len()).max()?;
    let zone: chrono_tz::Tz = view.zone.parse().unwrap_or(chrono_tz::UTC);
    // hours follow each other, also where the clock jumps: a day begins where the date changes
    let dates: Vec<String> =
        (0..steps).map(|i| show_ms(from_ms + i64::try_from(i).unwrap_or(0) * HOUR_MS, zone)).collect();
    let date = |i: usize| dates[i].get(8..10).unwrap_or_default().to_owned();
    let begins: Vec<usize> = (0..steps).filter(|i| *i == 0 || date(*i) != date(*i - 1)).collect();
    let every = begins.len() / 8 + 1;
    let labels: Vec<(usize, String)> = begins.into_iter().step_by(every).map(|i| (i, date(i))).collect();
    let says = view.say("fleet.map_says", &[("cards", &rows.len().to_string()), ("steps", &steps.to_string())]);
    let svg = chart::heat("cards-map", &drawn, &labels, &view.word("fleet.map"), &says);
    let csv =
        View::api("/usage", &[("month", &view.month), ("tz", &view.zone), ("by", "node,device"), ("format", "csv")]);
    let sums = answers.report("cards").map(|r| r.rows()).unwrap_or_default();
    Some(Drawn { svg: Value::from_safe_string(svg), table: by_card(view, &sums, csv) })
}

/// The hours of the week, over all cards: how much of the measured time something ran.
fn week(view: &View, report: Report<'_>) -> Option<Drawn> {
    let rows = report.rows();
    let mut days = vec![vec![None; 24]; 7];
    for row in &rows {
        let number = |name: &str| row.word(name).parse::<usize>().ok();
        let place = number("weekday").and_then(|d| days.get_mut(d.checked_sub(1)?)).zip(number("hour"));
        if let Some(cell) = place.and_then(|(day, hour)| day.get_mut(hour)) {
            let rest = row.number("rest").and_then(|r| u16::try_from(r.scaled(3)).ok());
            *cell = rest.map(|r| Heat::Busy(1000_u16.saturating_sub(r)));
        }
    }
    let named: Vec<(String, Vec<Option<Heat>>)> =
        (1..).zip(days).map(|(n, cells)| (super::words::listed(view.lang, "weekday", &n.to_string()), cells)).collect();
    let labels: Vec<(usize, String)> = (0..24).step_by(3).map(|h| (h, format!("{h}:00"))).collect();
    let says = view.say("fleet.week_says", &[("hours", &rows.len().to_string())]);
    let svg = chart::heat("week-map", &named, &labels, &view.word("fleet.week"), &says);
    let drawn = Drawn { svg: Value::from_safe_string(svg), table: rest(view, &rows) };
    (!rows.is_empty()).then_some(drawn)
}

/// A row a weekday, a column an hour: the part of the measured time at rest.
fn rest(view: &View, rows: &[Row<'_>]) -> Table {
    use super::table::{Cell, Head, Line};
    let mut heads = vec![Head::plain(view.word("head.weekday"), false)];
    heads.extend((0..24).map(|h| Head::plain(h.to_string(), true)));
    let line = |day: usize| {
        let name = super::words::listed(view.lang, "weekday", &day.to_string());
        let cell = |hour: usize| {
            let found =
                rows.iter().find(|r| r.word("weekday") == day.to_string() && r.word("hour") == hour.to_string());
            Cell::number(view, found.and_then(|r| r.number("rest")).map(Decimal::percent))
        };
        Line { cells: std::iter::once(Cell::text(name)).chain((0..24).map(cell)).collect(), more: None }
    };
    Table {
        id: "week",
        caption: view.word("fleet.week_table"),
        heads,
        rows: (1..=7).map(line).collect(),
        csv: Some(View::api("/fleet/census", &[("tz", &view.zone), ("hours", "true"), ("format", "csv")])),
        ..Table::default()
    }
}

/// The end of a card's UUID, which tells cards of a node apart.
fn tail(device: &str) -> &str {
    let start = device.char_indices().rev().nth(5).map_or(0, |(i, _)| i);
    &device[start..]
}

const CARD: [(&str, &str); 6] = [
    ("busy_hours", "head.busy"),
    ("held_idle_hours", "head.idle"),
    ("held_unmeasured_hours", "head.unmeasured"),
    ("unallocated_hours", "head.unallocated"),
    ("unavailable_hours", "head.unavailable"),
    ("unobserved_hours", "head.unobserved"),
];

/// Sums of the classes by card.
fn summed(rows: &[Row<'_>]) -> BTreeMap<(String, String), [Decimal; 6]> {
    let mut cards: BTreeMap<(String, String), [Decimal; 6]> = BTreeMap::new();
    for row in rows.iter().filter(|r| !r.word("device").is_empty() && r.word("device") != "-") {
        let sums = cards.entry((row.word("node"), row.word("device"))).or_insert([Decimal::ZERO; 6]);
        for (sum, (column, _)) in sums.iter_mut().zip(CARD) {
            *sum = sum.plus(row.number(column).unwrap_or(Decimal::ZERO));
        }
    }
    cards
}

fn by_card(view: &View, rows: &[Row<'_>], csv: String) -> Table {
    use super::table::{Cell, Head, Line};
    let head = |text: &str, number| Head::plain(view.word(text), number);
    let mut heads = vec![head("head.node", false), head("head.card", false)];
    heads.extend(CARD.iter().map(|(_, h)| head(h, true)));
    let cards = summed(rows);
    let line = |((node, device), sums): (&(String, String), &[Decimal; 6])| {
        let mut cells = vec![Cell::text(node.clone()), Cell::text(device.clone())];
        cells.extend(sums.iter().map(|h| Cell {
            number: true,
            raw: Some(h.scaled(4).to_string()),
            ..Cell::text(h.show(1))
        }));
        Line { cells, more: None }
    };
    let cut = (cards.len() > SUMMED)
        .then(|| view.say("table.cut", &[("shown", &SUMMED.to_string()), ("all", &cards.len().to_string())]));
    Table {
        id: "by-card",
        caption: view.word("fleet.map"),
        heads,
        rows: cards.iter().take(SUMMED).map(line).collect(),
        csv: Some(csv),
        empty: view.word("empty.fleet"),
        cut,
        ..Table::default()
    }
}

/// A card that was out of order for a time.
#[derive(Debug, Serialize)]
struct Broken {
    node: String,
    card: String,
    hours: String,
    days: String,
}

fn broken(view: &View, report: Report<'_>) -> Option<Vec<Broken>> {
    let rows = report.rows();
    let mut days: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.number("unavailable_hours").is_some_and(|h| !h.is_zero())) {
        days.entry((row.word("node"), row.word("device"))).or_default().push(row.word("day"));
    }
    let sums = summed(&rows);
    let mut out: Vec<(i128, Broken)> = days
        .into_iter()
        .filter_map(|(key, days)| {
            let hours = sums.get(&key)?[4];
            let words = match (days.first(), days.last()) {
                (Some(a), Some(b)) if a != b => view.say("fleet.from_to", &[("from", a), ("to", b)]),
                (Some(a), _) => a.clone(),
                _ => String::new(),
            };
            let shown = Broken { node: key.0, card: key.1, hours: hours.show(1), days: words };
            Some((hours.scaled(4), shown))
        })
        .collect();
    out.sort_by_key(|(hours, _)| std::cmp::Reverse(*hours));
    Some(out.into_iter().take(20).map(|(_, b)| b).collect::<Vec<_>>()).filter(|b| !b.is_empty())
}

fn losses(view: &View, answers: &Answers, report: Report<'_>) -> Option<Vec<Loss>> {
    let row = report.whole()?;
    let fragments = answers.report("fragmentation").map(|r| r.rows());
    let hours = |n: Option<Decimal>| n.map_or_else(|| view.word("unknown"), |h| h.show(1));
    // kinds of fragments overlap in the same cards: the greatest is what is surely lost
    let fragment = fragments.map(|rows| {
        let all = rows.iter().filter_map(|r| r.number("fragment_hours"));
        all.max_by(|a, b| a.order(*b)).unwrap_or(Decimal::ZERO)
    });
    let loss = |name: &str, of: Option<Decimal>, says: &str| Loss {
        name: view.word(name),
        hours: hours(of),
        says: view.word(says),
    };
    Some(vec![
        loss("fleet.idle_loss", row.number("idle_loss_hours"), "fleet.idle_loss_says"),
        loss("fleet.fragment_loss", fragment, "fleet.fragment_loss_says"),
        loss("fleet.waiting_loss", row.number("waiting_loss_hours"), "fleet.waiting_loss_says"),
    ])
}
