//! Closing a month: what it will bill, what stands against it and what each item is worth, waivers with reason and approver, and
//! the month's name typed before anything is final. And what closed months would be corrected by.

use serde::Serialize;
use serde_json::Value as Json;

use super::Body;
use super::answer::{Answers, Report};
use super::number::Decimal;
use super::part::part;
use super::statement::is_closed;
use super::table::{Col, Kind, Shown, Table};
use super::template::value;
use super::view::View;

/// An item of the close list.
#[derive(Debug, Serialize)]
struct Item {
    id: String,
    what: String,
    hours: Option<String>,
    value: Option<String>,
    mend: String,
    waivable: bool,
    waived: Option<String>,
}

fn items(document: &Json) -> Option<Vec<Item>> {
    let text = |of: &Json, name: &str| of.get(name).and_then(Json::as_str).map(str::to_owned);
    let item = |i: &Json| Item {
        id: text(i, "id").unwrap_or_default(),
        what: text(i, "what").unwrap_or_default(),
        hours: i.get("ms").and_then(Json::as_i64).map(|ms| Decimal::hours_of(ms).show(1)),
        value: text(i, "value"),
        mend: text(i, "mend").unwrap_or_default(),
        waivable: i.get("waivable").and_then(Json::as_bool).unwrap_or(false),
        waived: text(i, "waived"),
    };
    document.as_array().map(|all| all.iter().map(item).collect())
}

/// What a month bills, for the sentence above the button.
#[derive(Debug, Serialize)]
struct Figures {
    lines: String,
    teams: String,
    currency: String,
}

fn figures(report: Report<'_>) -> Option<Figures> {
    let currency = report.currency()?.to_owned();
    // lines of the platform are what nobody is billed for
    let rows = report.rows();
    let teams = rows.iter().filter(|r| r.word("team") != "(platform)").filter_map(|r| r.number("amount"));
    let sum = teams.fold(Decimal::ZERO, Decimal::plus);
    Some(Figures { lines: rows.len().to_string(), teams: sum.show_all(), currency })
}

const PERIODS: [Col; 7] = [
    Col::new("period", "head.period", Kind::Text)
        .to(|v, r| Some(v.link("/chargeback", &[("month", &r.word("period"))]))),
    Col::new("state", "head.state", Kind::Word("period_state")),
    Col::new("closed_at", "head.closed_at", Kind::Text),
    Col::new("billed", "head.billed", Kind::Money),
    Col::new("corrections", "head.corrections", Kind::Money),
    Col::new("fleet_cost", "head.fleet_cost", Kind::Money),
    Col::new("output_sha256", "head.hash", Kind::Text),
];

/// The table of periods.
fn periods(view: &View, report: Report<'_>) -> Table {
    let shown = Shown { id: "periods", caption: "close.periods", empty: "empty.periods", columns: &PERIODS, most: 60 };
    Table::of(view, report, shown, Some(View::api("/periods", &[("tz", &view.zone), ("format", "csv")])))
}

pub(super) fn body(view: &View, answers: &Answers) -> Body {
    let closed = is_closed(view, answers);
    let open = answers.document("close").and_then(items).map(|all| {
        let open = all.iter().filter(|i| i.waived.is_none()).count();
        (all.len(), open, all.iter().any(|i| !i.waivable))
    });
    let fields = minijinja::context! {
        closed => closed,
        month => view.month.clone(),
        month_words => view.month_words(),
        may_bill => view.may().bill,
        list => value(part(answers, "close", |r| items(r.document()))),
        open => open.map_or(0, |o| o.1),
        firm => open.is_some_and(|o| o.2),
        figures => value(part(answers, "statement", figures)),
        periods => value(part(answers, "periods", |r| Some(periods(view, r)))),
        here => view.here(&[]),
    };
    let month = view.month_words();
    let sentence = if closed {
        Some(view.say("close.sentence_closed", &[("month", &month)]))
    } else {
        open.map(|(all, open, _)| match (all, open) {
            (0, _) => view.say("close.sentence_clear", &[("month", &month)]),
            _ => {
                let args = [("month", month.as_str()), ("all", &all.to_string()), ("open", &open.to_string())];
                view.say("close.sentence_items", &args)
            }
        })
    };
    Body { template: "close.html", sentence, fields }
}

const CORRECTIONS: [Col; 9] = [
    Col::new("line_id", "head.line", Kind::Text),
    Col::new("corrects", "head.corrects", Kind::Text),
    Col::new("team", "head.team", Kind::Text),
    Col::new("kind", "head.kind", Kind::Word("line_kind")),
    Col::new("pool", "head.pool", Kind::Text),
    Col::new("model", "head.model", Kind::Text),
    Col::new("quantity_hours", "head.hours", Kind::Hours),
    Col::new("amount", "head.amount", Kind::Money),
    Col::new("reason", "head.reason", Kind::Text),
];

/// What became known of closed months since.
pub(super) fn corrections(view: &View, answers: &Answers) -> Body {
    let shown = Shown {
        id: "corrections",
        caption: "corrections.table",
        empty: "empty.corrections",
        columns: &CORRECTIONS,
        most: 300,
    };
    let fields = minijinja::context! {
        tabled => value(part(answers, "corrections", |r| Some(Table::of(view, r, shown, None)))),
        periods => value(part(answers, "periods", |r| Some(periods(view, r)))),
        back => view.link("/chargeback", &[]),
    };
    let sentence = answers.report("corrections").map(|r| match (r.total(), r.currency()) {
        (Some(total), Some(currency)) => {
            let amount = total.number("amount").map_or_else(|| view.word("unknown"), Decimal::show_all);
            let args = [("count", r.rows().len().to_string()), ("amount", amount), ("currency", currency.to_owned())];
            view.say("corrections.sentence", &args.each_ref().map(|(n, v)| (*n, v.as_str())))
        }
        _ => view.word("corrections.sentence_none"),
    });
    Body { template: "corrections.html", sentence, fields }
}
