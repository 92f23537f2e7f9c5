//! The close list: what stands against closing a period, each with what would mend it and whether somebody waived it by name.

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::window::{self, show_ms};
use serde::Serialize;

use super::correct::Look;
use super::draft::{Draft, draft};
use super::manifest::Manifest;
use super::period::{months, months_of_ledger, usage_to};
use super::show::{amount, exact_amount, hours};
use super::{CloseAsk, CloseError};
use crate::bill::Period;
use crate::check::{self, Finding};
use crate::engine::{Params, bigint, text};
use crate::lake::Lake;
use crate::report::{Ask, Reader, price_facts};
use crate::rows::Columns;

/// Unmeasured and unobserved time of the capacity above which a close wants a waiver, in parts per million.
const UNKNOWN_PPM: i64 = 20_000;

/// Somebody waived an item of the close list by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The item.
    pub item: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub approver: String,
    /// When, epoch ms.
    pub at_ms: i64,
}

/// What a team said of a line of its draft statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The line.
    pub line_id: i64,
    /// It disputes it; else it accepts it.
    pub disputed: bool,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When, epoch ms.
    pub at_ms: i64,
}

/// Something that stands against closing a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name, the same until it is mended: `kind:place`.
    pub id: String,
    /// What kind it is of.
    pub kind: String,
    /// What is wrong.
    pub what: String,
    /// GPU time it is about, ms.
    pub ms: Option<i64>,
    /// What that is worth at list price, in the currency; absent: not known.
    pub value: Option<String>,
    /// What would mend it.
    pub mend: String,
    /// Whether a waiver can stand for mending it.
    pub waivable: bool,
    /// Who waived it, and why.
    pub waived: Option<String>,
    /// When it was waived, epoch ms.
    #[serde(skip)]
    pub waiver: Option<Waiver>,
}

impl Waiver {
    fn shown(&self) -> String {
        format!("waived by {}: {}", self.approver, self.reason)
    }
}

/// A period as it would be closed, and what stands against it.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The id that the close would have.
    pub close_id: String,
    /// The figures.
    pub draft: Draft,
    /// The close list.
    pub items: Vec<Item>,
    /// The closes that were there: corrections are against them.
    pub(super) closed: Vec<Manifest>,
}

impl Proposal {
    /// Whether nothing stands against closing.
    pub fn clear(&self) -> bool {
        self.items.iter().all(|i| i.waiver.is_some())
    }

    /// Marks the items that these waivers name; of several for one item the last counts. What cannot be waived stays open.
    pub fn waive(&mut self, waivers: &[Waiver]) {
        for item in self.items.iter_mut().filter(|i| i.waivable) {
            if let Some(waiver) = waivers.iter().rfind(|w| w.item == item.id) {
                item.waived = Some(waiver.shown());
                item.waiver = Some(waiver.clone());
            }
        }
    }
}

/// Computes a period as it would be closed now and runs every check and the close list. Writes nothing.
///
/// # Errors
/// When a figure cannot be computed.
pub async fn propose(lake: &Lake, reader: &Reader, ask: &CloseAsk) -> Result<Proposal, CloseError> {
    let closed = Manifest::all(lake).await?;
    let close_id = ask.close_id();
    // facts and lines of the period come of one chain of statements
    let work = reader.fork().await?;
    let listed = listed(&work, &ask.period).await?;
    let draft = draft(lake, &work, &ask.period, &closed, &close_id, Look::Changed).await?;
    let mut items = checks(&work, reader, ask, &draft, &closed).await?;
    items.extend(calendar(reader, ask, &closed).await?);
    items.extend(listed);
    items.extend(input(reader, &ask.period).await?);
    items.extend(people(reader, ask, &draft).await?);
    let mut found = Proposal { close_id, draft, items, closed };
    found.waive(&ask.waivers);
    Ok(found)
}

fn item(kind: &str, place: &str, what: String, mend: &str) -> Item {
    Item {
        id: if place.is_empty() { kind.to_owned() } else { format!("{kind}:{place}") },
        kind: kind.to_owned(),
        what,
        ms: None,
        value: None,
        mend: mend.to_owned(),
        waivable: true,
        waived: None,
        waiver: None,
    }
}

fn firm(item: Item) -> Item {
    Item { waivable: false, ..item }
}

/// Invariants that do not hold, of the period (its facts are priced in `work`) and of those that it corrects: these no waiver covers.
/// What was closed before and has not changed was looked at then.
async fn checks(
    work: &Reader,
    reader: &Reader,
    ask: &CloseAsk,
    draft: &Draft,
    closed: &[Manifest],
) -> Result<Vec<Item>, CloseError> {
    let of = &ask.period;
    let mut found: Vec<(&str, Finding)> = Vec::new();
    found.extend(check::of_window(work, of.window, of.zone, true).await?.into_iter().map(|f| ("", f)));
    found.push(("", check::from("M2", &draft.violations, true)));
    for m in closed.iter().filter(|m| draft.corrections.iter().any(|c| c.period == m.period)) {
        let corrected = super::read::period_of(m)?;
        let again = check::of_window(&reader.fork().await?, corrected.window, corrected.zone, false).await?;
        found.extend(again.into_iter().map(|f| (m.period.as_str(), f)));
    }
    let items = found.into_iter().filter(|(_, f)| f.violated).map(|(period, f)| {
        let (name, where_) = match period {
            "" => (f.id.clone(), String::new()),
            period => (format!("{}:{period}", f.id), format!(" of {period}")),
        };
        let what = format!("{}{where_} does not hold: {} ({} rows)\n{}", f.id, f.says, f.rows, f.shown);
        let mend = "`gpuledger check` shows the rows; nothing can be closed over it";
        firm(item("check", &name, what.trim_end().to_owned(), mend))
    });
    let mut items: Vec<Item> = items.collect();
    if !draft.faults.is_empty() {
        let what = format!("M1 does not hold of the lines of {}:\n{}", ask.period.name, draft.faults.join("\n"));
        items.push(firm(item(
            "check",
            "M1_bill",
            what,
            "this is a fault of the program: nothing can be closed over it",
        )));
    }
    Ok(items)
}

/// Whether the time has come.
async fn calendar(reader: &Reader, ask: &CloseAsk, closed: &[Manifest]) -> Result<Vec<Item>, CloseError> {
    let (window, zone) = (ask.period.window, ask.period.zone);
    let mut out = Vec::new();
    if ask.now_ms < window.to_ms {
        let what = format!("{} is not over before {}", ask.period.name, show_ms(window.to_ms, zone));
        out.push(firm(item("not_over", "", what, "wait for it")));
    } else if ask.now_ms < window.to_ms + ask.grace_ms {
        let until = show_ms(window.to_ms + ask.grace_ms, zone);
        let what = format!("late data is waited for until {until} (`grace_days` of the configuration)");
        out.push(item("grace", "", what, "wait for it"));
    }
    if usage_to(reader, window).await?.is_none() {
        let what = format!("nothing is known of {}: no time of any GPU", ask.period.name);
        out.push(item("empty", "", what, "import or collect what is missing"));
    }
    let first = months_of_ledger(reader, zone).map(|(first, _)| first);
    for month in first.map_or_else(Vec::new, |first| months(&first, &ask.period.name)) {
        if month >= ask.period.name || closed.iter().any(|m| m.period == month) {
            continue;
        }
        let Ok(window) = window::month(&month, zone) else { continue };
        if usage_to(reader, window).await?.is_some() {
            let what = format!("{month} has usage and is not closed");
            out.push(item("earlier_open", &month, what, &format!("`gpuledger close {month}` first")));
        }
    }
    Ok(out)
}

/// What priced facts show.
async fn listed(work: &Reader, of: &Period) -> Result<Vec<Item>, CloseError> {
    let ask = Ask { window: of.window, zone: of.zone, by: Vec::new(), step: None, currency: of.currency.clone() };
    price_facts(work, &ask).await?;
    let params = Params::from([("limit_ppm", bigint(UNKNOWN_PPM))]);
    let (_, rows) = work.engine().run("close/30_listed", &params).await?;
    let mut out = Vec::new();
    for b in &rows {
        let c = Columns(b);
        let (kinds, places, ms, value) = (c.word("kind")?, c.word("place")?, c.number("ms")?, c.exact("value")?);
        for i in 0..b.num_rows() {
            let (what, mend) = words(&kinds[i], &places[i], ms[i]);
            let place = if kinds[i] == "coverage" { "" } else { &places[i] };
            let listed = item(&kinds[i], place, what, mend);
            let value = value[i].map(|v| exact_amount(v, &of.currency));
            out.push(Item { ms: Some(ms[i]), value, ..listed });
        }
    }
    Ok(out)
}

fn words(kind: &str, place: &str, ms: i64) -> (String, &'static str) {
    let h = hours(ms);
    match kind {
        "unpriced" => (
            format!("{h} held GPU-hours in {place} (pool/model) have no price and are in no charge"),
            "import a rate for them (`gpuledger rates import`)",
        ),
        "unpriced_free" => (
            format!("{h} GPU-hours of nobody in {place} (pool/model) have no price: the fleet's cost lacks them"),
            "import a rate without team and task type (`gpuledger rates import`)",
        ),
        "unowned" => (
            format!("{h} GPU-hours of {place} (cluster/account) have no owner and are charged to `unassigned`"),
            "import an owner for the account (`gpuledger owners import`)",
        ),
        "conflict" => (
            format!("{h} GPU-hours of {place} were asked for on cards that were full, and are in no charge"),
            "mend the record of who held which card (`gpuledger explain`)",
        ),
        "unseen" => (
            format!("nothing at all is known of node {place}: {h} GPU-hours unobserved"),
            "import or collect its node states, or end its inventory row",
        ),
        _ => (
            format!("{h} GPU-hours are unmeasured or unobserved, over {} % of the capacity", UNKNOWN_PPM / 10_000),
            "collect what is missing (`gpuledger report usage` shows where)",
        ),
    }
}

/// What input shows.
async fn input(reader: &Reader, of: &Period) -> Result<Vec<Item>, CloseError> {
    let engine = reader.engine();
    let window = Params::from([("from_ms", bigint(of.window.from_ms)), ("to_ms", bigint(of.window.to_ms))]);
    let mut out = Vec::new();
    each(&engine.run("close/31_mismatch", &window).await?.1, |c, i| {
        let place = c.word("place")?[i].clone();
        let n = c.number("n")?[i];
        let what = format!("the records of {place} name other devices than the {n} on which its processes ran (L4)");
        out.push(item("mismatch", &place, what, "set the index rule of the node's records, or import the right ones"));
        Ok(())
    })?;
    each(&engine.run("close/32_aside", &window).await?.1, |c, i| {
        let (place, n, reason) = (c.word("place")?[i].clone(), c.number("n")?[i], c.word("reason")?[i].clone());
        let what = format!("{n} records of {place} were set aside, e.g.: {reason}");
        out.push(item(
            "quarantined",
            &place,
            what,
            "mend the input and import it again (table `quarantine` has the records)",
        ));
        Ok(())
    })?;
    each(&engine.run("close/33_gap", &window).await?.1, |c, i| {
        let (place, n, ms) = (c.word("place")?[i].clone(), c.number("n")?[i], c.number("ms")?[i]);
        let error = c.text("error")?[i].clone().unwrap_or_default();
        let what =
            format!("{n} looks at {place} failed, over {} h, and none later makes them good: {error}", hours(ms));
        let mend = "let the collector look again, or import that time from accounting";
        out.push(Item { ms: Some(ms), ..item("gap", &place, what, mend) });
        Ok(())
    })?;
    Ok(out)
}

/// What people left open.
async fn people(reader: &Reader, ask: &CloseAsk, draft: &Draft) -> Result<Vec<Item>, CloseError> {
    let mut out = Vec::new();
    for line in &draft.lines {
        let last = ask.answers.iter().filter(|a| a.line_id == line.line_id).max_by_key(|a| a.at_ms);
        let Some(answer) = last.filter(|a| a.disputed) else { continue };
        let shown = amount(line.amount_minor, &ask.period.currency);
        let what = format!("{} disputes its line of {shown} ({}): {}", line.team, answer.by, answer.reason);
        let mend = "mend what is wrong, or have the team accept the line (`gpuledger statement accept`)";
        let listed = item("disputed", &line.line_id.to_string(), what, mend);
        out.push(Item { ms: Some(line.quantity_ms), value: Some(shown), ..listed });
    }
    let currency = ask.period.currency.code();
    let params = Params::from([("period", text(&ask.period.name)), ("currency", text(currency))]);
    each(&reader.engine().run("close/36_manual_fault", &params).await?.1, |c, i| {
        let (kind, line, team) = (c.word("kind")?[i].clone(), c.word("place")?[i].clone(), c.word("team")?[i].clone());
        out.push(match kind.as_str() {
            "other_currency" => {
                let what =
                    format!("manual line {line} of {team} is in {}, the bill in {currency}", c.word("currency")?[i]);
                firm(item(&kind, &line, what, "withdraw it and add it again in the currency of the bill"))
            }
            _ => {
                let what = format!("manual line {line} of {team} has no approver");
                item(&kind, &line, what, "withdraw it and add it again with --approver")
            }
        });
        Ok(())
    })?;
    Ok(out)
}

fn each(
    rows: &[RecordBatch],
    mut one: impl FnMut(&Columns<'_>, usize) -> Result<(), CloseError>,
) -> Result<(), CloseError> {
    for b in rows {
        let columns = Columns(b);
        for i in 0..b.num_rows() {
            one(&columns, i)?;
        }
    }
    Ok(())
}
