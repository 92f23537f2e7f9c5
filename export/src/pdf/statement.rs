//! What stands on a statement: the sentence, what is billed, by cost centre, the chart, notes; then every line as an annex.

use gpuledger_schema::bill::{Bill, LineKind};
use gpuledger_schema::table::StatementLineRow;

use super::chart;
use super::color::{ALERT, INK, MONEY, QUIET, RULE};
use super::fonts::{Fonts, Weight};
use super::measure::{Letters, Twip, wrap};
use super::page::{Column, Item, LEFT, PAGE, PLAIN, Pages, RIGHT, SMALL, STRONG, Side};
use crate::error::ExportError;
use crate::head;
use crate::number::{decimal, hours, percent, short_decimal};
use crate::sums::{Sums, by, has_time, unknown_use};
use crate::text::Lang;

const TITLE: Letters = Letters { size: 400, weight: Weight::Bold };
const SENTENCE: Letters = Letters { size: 230, weight: Weight::Regular };
/// Cost centres and notes of the first page; what is beyond is said to be elsewhere.
const CENTERS_MAX: usize = 6;
const NOTES_MAX: usize = 5;
/// Lines of text that one line of the annex takes at most.
const ANNEX_LINES: usize = 4;

/// What a statement is of.
pub(super) struct Statement<'a> {
    pub(super) bill: &'a Bill,
    pub(super) team: &'a str,
    pub(super) lines: Vec<&'a StatementLineRow>,
    pub(super) lang: Lang,
}

/// The pages of a statement.
pub(super) fn pages(statement: &Statement<'_>, fonts: &Fonts) -> Result<Vec<Vec<Item>>, ExportError> {
    let mut pages = Pages::new(fonts);
    header(statement, &mut pages)?;
    by_kind(statement, &mut pages);
    by_center(statement, &mut pages);
    chart::draw(&mut pages, &statement.lines, statement.lang);
    notes(statement, &mut pages);
    pages.turn();
    annex(statement, &mut pages);
    footers(statement, &mut pages)?;
    Ok(pages.done)
}

fn money(bill: &Bill, minor: i128) -> String {
    decimal(minor, bill.digits, true)
}

/// Issuer, team, period, zone, state, hash; then the sentence.
fn header(s: &Statement<'_>, pages: &mut Pages<'_>) -> Result<(), ExportError> {
    let (bill, lang) = (s.bill, s.lang);
    let half = (RIGHT - LEFT) / 2;
    let left = Column { left: LEFT, width: half, side: Side::Left };
    let right = Column { left: LEFT + half, width: half, side: Side::Right };
    pages.cell(left, pages.y, STRONG, MONEY, &bill.issuer);
    pages.cell(right, pages.y, STRONG, MONEY, lang.say("statement.word"));
    pages.y += 120;
    pages.rule(MONEY);
    let title = lang.fill("statement.title", &[("team", s.team), ("period", &head::period_name(bill, lang))]);
    pages.paragraph(TITLE, MONEY, &title, 2);
    if head::hash(bill).is_none() {
        pages.paragraph(Letters { weight: Weight::Bold, ..PLAIN }, ALERT, lang.say("statement.draft"), 1);
    }
    let facts = [
        (lang.say("statement.period"), head::days(bill, lang)?),
        (lang.say("statement.zone"), bill.zone.clone()),
        (lang.say("statement.currency"), bill.currency.clone()),
        (lang.say("statement.state"), head::state(bill, lang)?),
    ];
    let hash = head::hash(bill).map(|hash| (lang.say("statement.hash"), hash.to_owned()));
    let label = Column { left: LEFT, width: 1_300, side: Side::Left };
    let room = RIGHT - LEFT - label.width;
    for (name, value) in facts.into_iter().chain(hash) {
        for (i, line) in wrap(pages.fonts, SMALL, &value, room, 3).into_iter().enumerate() {
            pages.y += 210;
            let y = pages.y;
            if i == 0 {
                pages.cell(label, y, SMALL, QUIET, name);
            }
            pages.text((LEFT + label.width, y), SMALL, INK, &line);
        }
    }
    pages.y += 160;
    let sentence = crate::sentence::statement(bill, s.team, &s.lines, lang);
    pages.paragraph(SENTENCE, INK, &sentence, 5);
    Ok(())
}

/// Widths of the columns of numbers after the first column, which has what is left.
fn columns<const N: usize>(widths: [Twip; N]) -> Vec<Column> {
    let first = RIGHT - LEFT - widths.iter().sum::<Twip>();
    let mut out = vec![Column { left: LEFT, width: first - 100, side: Side::Left }];
    let mut left = LEFT + first;
    for width in widths {
        out.push(Column { left: left + 60, width: width - 60, side: Side::Right });
        left += width;
    }
    out
}

/// Held, busy, idle, unmeasured, measured part, money of the idle part, amount.
fn measures(s: &Statement<'_>, first: String, sums: &Sums) -> Vec<String> {
    let measured = |t: String| if sums.unknown_use() { s.lang.say("word.unknown").to_owned() } else { t };
    vec![
        first,
        hours(sums.held_ms),
        measured(hours(sums.busy_ms)),
        measured(hours(sums.held_idle_ms)),
        hours(sums.held_unmeasured_ms),
        percent(sums.covered_ms, sums.held_ms).unwrap_or_default(),
        measured(money(s.bill, sums.waste)),
        money(s.bill, sums.amount),
    ]
}

fn by_kind(s: &Statement<'_>, pages: &mut Pages<'_>) {
    let lang = s.lang;
    pages.heading(lang.say("statement.by_kind"));
    let columns = columns([1_050, 1_050, 1_050, 1_000, 950, 1_250, 1_450]);
    let amount = format!("{} {}", lang.say("column.amount"), s.bill.currency);
    let names = [
        "",
        lang.say("column.held_h"),
        lang.say("column.busy_h"),
        lang.say("column.waste_h"),
        lang.say("column.unmeasured_h"),
        lang.say("column.coverage"),
        lang.say("column.waste"),
        &amount,
    ];
    pages.heads(&columns, &names);
    let kinds = by(s.lines.iter().copied(), |l| l.kind.parse::<LineKind>().ok());
    for (kind, sums) in kinds {
        let name = kind.map(|k| lang.kind(k.as_str())).unwrap_or_default();
        let no_time = kind.is_some_and(|k| matches!(k, LineKind::Credit | LineKind::Adjustment));
        let mut cells = measures(s, name, &sums);
        if no_time {
            cells[1..=6].iter_mut().for_each(String::clear);
        }
        pages.row(&columns, SMALL, &cells);
    }
    let total = measures(s, lang.say("word.total").to_owned(), &Sums::of(s.lines.iter().copied()));
    pages.row(&columns, STRONG, &total);
}

fn by_center(s: &Statement<'_>, pages: &mut Pages<'_>) {
    let lang = s.lang;
    let centers = by(s.lines.iter().copied(), |l| l.cost_center.as_deref());
    if centers.len() < 2 {
        return;
    }
    pages.heading(lang.say("statement.by_center"));
    let columns = columns([1_600, 1_900]);
    let amount = format!("{} {}", lang.say("column.amount"), s.bill.currency);
    pages.heads(&columns, &["", lang.say("column.held_h"), &amount]);
    let mut sorted: Vec<_> = centers.into_iter().collect();
    sorted.sort_by(|a, b| (b.1.amount, a.0).cmp(&(a.1.amount, b.0)));
    for (code, sums) in sorted.iter().take(CENTERS_MAX) {
        let named = s.bill.cost_centers.iter().find(|c| Some(c.code.as_str()) == *code);
        let name = match (code, named) {
            (Some(code), Some(center)) => format!("{code} · {}", center.name),
            (Some(code), None) => (*code).to_owned(),
            (None, _) => lang.say("word.none").to_owned(),
        };
        pages.row(&columns, SMALL, &[name, hours(sums.held_ms), money(s.bill, sums.amount)]);
    }
    if sorted.len() > CENTERS_MAX {
        let count = (sorted.len() - CENTERS_MAX).to_string();
        pages.paragraph(SMALL, QUIET, &lang.fill("statement.more_centers", &[("count", &count)]), 1);
    }
}

fn notes(s: &Statement<'_>, pages: &mut Pages<'_>) {
    let notes = &s.bill.notes;
    if notes.is_empty() {
        return;
    }
    if !pages.has_room(1_200) {
        pages.turn();
    }
    pages.heading(s.lang.say("statement.notes"));
    let mut shown = 0;
    for note in notes.iter().take(NOTES_MAX) {
        if !pages.has_room(700) {
            break;
        }
        pages.paragraph(SMALL, INK, note, 2);
        shown += 1;
    }
    if shown < notes.len() {
        let count = (notes.len() - shown).to_string();
        pages.paragraph(SMALL, QUIET, &s.lang.fill("statement.more_notes", &[("count", &count)]), 1);
    }
}

/// Every line, with its headings on every page, and the total.
fn annex(s: &Statement<'_>, pages: &mut Pages<'_>) {
    let lang = s.lang;
    let columns = columns([1_150, 1_150, 1_150, 1_150, 850, 1_450]);
    let amount = format!("{} {}", lang.say("column.amount"), s.bill.currency);
    let names = [
        lang.say("column.line"),
        lang.say("column.price"),
        lang.say("column.gpu_hours"),
        lang.say("column.busy_h"),
        lang.say("column.waste_h"),
        lang.say("column.coverage"),
        &amount,
    ];
    let title = lang.fill("statement.annex", &[("team", s.team), ("period", &head::period_name(s.bill, lang))]);
    pages.heading(&title);
    pages.heads(&columns, &names);
    for line in &s.lines {
        let texts = wrap(pages.fonts, SMALL, &crate::sentence::line(line, lang), columns[0].width, ANNEX_LINES);
        let height = 200 * texts.len() as Twip + 60;
        if !pages.has_room(height) {
            pages.turn();
            pages.heading(&title);
            pages.heads(&columns, &names);
        }
        annex_line(s, pages, &columns, line, &texts);
        pages.y += height;
        pages.rule(RULE);
    }
    if !pages.has_room(300) {
        pages.turn();
        pages.heading(&title);
        pages.heads(&columns, &names);
    }
    let total = Sums::of(s.lines.iter().copied());
    let unknown = |t: String| if total.unknown_use() { lang.say("word.unknown").to_owned() } else { t };
    let cells = [
        lang.say("word.total").to_owned(),
        String::new(),
        hours(total.quantity_ms),
        unknown(hours(total.busy_ms)),
        unknown(hours(total.held_idle_ms)),
        percent(total.covered_ms, total.held_ms).unwrap_or_default(),
        money(s.bill, total.amount),
    ];
    pages.row(&columns, STRONG, &cells);
}

fn annex_line(s: &Statement<'_>, pages: &mut Pages<'_>, columns: &[Column], line: &StatementLineRow, texts: &[String]) {
    let first = pages.y + 200;
    for (i, text) in (0..).zip(texts) {
        pages.cell(columns[0], first + 200 * i, SMALL, INK, text);
    }
    let mut cells = vec![line.price_micros.map(|p| short_decimal(p.into(), 6)).unwrap_or_default()];
    if has_time(line) {
        let unknown = |t: String| if unknown_use(line) { s.lang.say("word.unknown").to_owned() } else { t };
        cells.extend([
            hours(line.quantity_ms.into()),
            unknown(hours(line.busy_ms.into())),
            unknown(hours(line.held_idle_ms.into())),
            percent(line.covered_ms.into(), line.held_ms.into()).unwrap_or_default(),
        ]);
    } else {
        cells.resize(5, String::new());
    }
    cells.push(money(s.bill, line.amount_minor.into()));
    for (column, cell) in columns[1..].iter().zip(&cells) {
        pages.cell(*column, first, SMALL, INK, cell);
    }
}

/// At the bottom of every page: what it is of, its state, its number.
fn footers(s: &Statement<'_>, pages: &mut Pages<'_>) -> Result<(), ExportError> {
    let count = pages.done.len();
    let what = s.lang.fill("statement.title", &[("team", s.team), ("period", &s.bill.period)]);
    let state = head::state(s.bill, s.lang)?;
    let y = PAGE.1 - 700;
    let done = std::mem::take(&mut pages.done);
    for (i, page) in (1..).zip(done) {
        pages.done.push(page);
        pages.y = y - 220;
        pages.rule(RULE);
        let number = s.lang.fill("statement.page", &[("page", &i.to_string()), ("pages", &count.to_string())]);
        let third = (RIGHT - LEFT) / 10;
        pages.cell(Column { left: LEFT, width: third * 4 - 100, side: Side::Left }, y, SMALL, QUIET, &what);
        pages.cell(Column { left: LEFT + third * 4, width: third * 4, side: Side::Left }, y, SMALL, QUIET, &state);
        pages.cell(Column { left: RIGHT - third * 2, width: third * 2, side: Side::Right }, y, SMALL, QUIET, &number);
    }
    Ok(())
}
