//! A table of a page: columns with unit and kind, rows with links to what they are made of, a total, its CSV. Sorting is in the
//! address, so that it works without script and can be sent to somebody.

use std::cmp::Ordering;

use serde::Serialize;

use super::answer::{Report, Row};
use super::view::View;

/// What kind of values a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text as typed.
    Text,
    /// A word of a closed list, said in words: the list.
    Word(&'static str),
    /// GPU-hours, one digit.
    Hours,
    /// Money with the currency's digits.
    Money,
    /// A count.
    Count,
    /// A part of one, as a percentage.
    Percent,
    /// GiB, one digit.
    Gib,
}

impl Kind {
    const fn is_number(self) -> bool {
        !matches!(self, Self::Text | Self::Word(_))
    }
}

type Link = fn(&View, Row<'_>) -> Option<String>;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Col {
    /// Column of the report.
    pub(super) name: &'static str,
    /// Message that heads it, unit included.
    pub(super) head: &'static str,
    /// Kind.
    pub(super) kind: Kind,
    /// Where its values lead.
    pub(super) link: Option<Link>,
}

impl Col {
    /// A column.
    pub(super) const fn new(name: &'static str, head: &'static str, kind: Kind) -> Self {
        Self { name, head, kind, link: None }
    }

    /// The same, each value leading somewhere.
    pub(super) const fn to(self, link: Link) -> Self {
        Self { link: Some(link), ..self }
    }
}

/// A cell as the templates show it.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Cell {
    /// What is shown.
    pub(super) text: String,
    /// Where it leads.
    pub(super) href: Option<String>,
    /// What it says on hover and to screen readers.
    pub(super) title: Option<String>,
    /// Whether it is right-aligned.
    pub(super) number: bool,
    /// Whether it is not known.
    pub(super) unknown: bool,
    /// What script sorts by.
    pub(super) raw: Option<String>,
    /// A drawing that stands beside the text.
    pub(super) svg: Option<String>,
    /// A class of the style sheet.
    pub(super) class: Option<&'static str>,
    /// What can be done here: words, and where each leads.
    pub(super) links: Vec<(String, String)>,
    /// A form in the cell: what the template draws.
    pub(super) form: Option<&'static str>,
}

impl Cell {
    /// Text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A number as it is shown, where it is known.
    pub(super) fn number(view: &View, known: Option<String>) -> Self {
        let unknown = known.is_none();
        Self { number: true, unknown, ..Self::text(known.unwrap_or_else(|| view.word("unknown"))) }
    }

    /// A drawing.
    pub(super) fn svg(svg: String) -> Self {
        Self { svg: Some(svg), ..Self::default() }
    }
}

/// A chart with its table.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    /// The chart.
    pub(super) svg: minijinja::Value,
    /// What it shows, in numbers.
    pub(super) table: Table,
}

/// A heading.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Head {
    /// In words.
    pub(super) text: String,
    /// Whether its column is right-aligned.
    pub(super) number: bool,
    /// The address that sorts by it.
    pub(super) sort: Option<String>,
    /// `ascending` or `descending`, where the table is sorted by it.
    pub(super) sorted: Option<&'static str>,
}

impl Head {
    /// One that sorts nothing.
    pub(super) fn plain(text: impl Into<String>, number: bool) -> Self {
        Self { text: text.into(), number, sort: None, sorted: None }
    }
}

/// A row.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Line {
    /// Cells.
    pub(super) cells: Vec<Cell>,
    /// A row that opens under it: text.
    pub(super) more: Option<String>,
}

/// A table.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Table {
    /// Its id in the page.
    pub(super) id: &'static str,
    /// What it shows.
    pub(super) caption: String,
    /// Headings.
    pub(super) heads: Vec<Head>,
    /// Rows.
    pub(super) rows: Vec<Line>,
    /// The total.
    pub(super) total: Option<Vec<Cell>>,
    /// Where its CSV is.
    pub(super) csv: Option<String>,
    /// Said where there are no rows.
    pub(super) empty: String,
    /// How many rows there are, where not all are shown.
    pub(super) cut: Option<String>,
}

/// A table of a report and how it is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    /// Id.
    pub(super) id: &'static str,
    /// Message of the caption.
    pub(super) caption: &'static str,
    /// Message for no rows.
    pub(super) empty: &'static str,
    /// Columns.
    pub(super) columns: &'a [Col],
    /// Rows at most.
    pub(super) most: usize,
}

/// Links of the numbers of a table at most, bytes: a page stays below 200 kB.
const LINKS_BYTES: usize = 8_000;

/// Makes a cell of a value.
pub(super) fn cell(view: &View, col: Col, row: Row<'_>, currency: Option<&str>) -> Cell {
    let text = row.text(col.name).filter(|t| !t.is_empty());
    let number = row.number(col.name);
    let known = match (col.kind, &text, number) {
        (Kind::Text, Some(t), _) => Some(t.clone()),
        (Kind::Word(list), Some(t), _) => Some(super::words::listed(view.lang, list, &t.to_lowercase())),
        (Kind::Text | Kind::Word(_), None, _) => Some("\u{2013}".to_owned()),
        (Kind::Hours | Kind::Gib, _, Some(n)) => Some(n.show(1)),
        (Kind::Money, _, Some(n)) => Some(n.show_all()),
        (Kind::Count, _, Some(n)) => Some(n.show(0)),
        (Kind::Percent, _, Some(n)) => Some(n.percent()),
        (_, _, None) => None,
    };
    let unknown = known.is_none();
    let title = match col.kind {
        _ if unknown => Some(view.word("unknown.why")),
        Kind::Money => number.zip(currency).map(|(n, c)| format!("{} {c}", n.show_all())),
        Kind::Hours | Kind::Percent => text.clone(),
        _ => None,
    };
    Cell {
        text: known.unwrap_or_else(|| view.word("unknown")),
        href: col.link.and_then(|l| l(view, row)),
        title,
        number: col.kind.is_number(),
        unknown,
        raw: if col.kind.is_number() { text } else { None },
        ..Cell::default()
    }
}

/// The column and direction that the address sorts a table by.
fn sorted<'v>(view: &'v View, id: &str) -> Option<(&'v str, bool)> {
    let mut parts = view.chosen("sort")?.splitn(3, ':');
    let (table, column, way) = (parts.next()?, parts.next()?, parts.next());
    (table == id).then_some((column, way == Some("desc")))
}

/// The headings of a table.
pub(super) fn heads(view: &View, id: &str, columns: &[Col]) -> Vec<Head> {
    let by = sorted(view, id);
    let head = |c: &Col| {
        let own = by.filter(|(name, _)| *name == c.name);
        // numbers are first asked for from the greatest
        let desc = own.map_or(c.kind.is_number(), |(_, desc)| !desc);
        let word = format!("{id}:{}:{}", c.name, if desc { "desc" } else { "asc" });
        Head {
            text: view.word(c.head),
            number: c.kind.is_number(),
            sort: Some(format!("{}#{id}", view.here(&[("sort", &word)]))),
            sorted: own.map(|(_, desc)| if desc { "descending" } else { "ascending" }),
        }
    };
    columns.iter().map(head).collect()
}

/// Sorts rows as the address says; what is not known comes last in either direction.
pub(super) fn sort(view: &View, id: &str, columns: &[Col], rows: &mut [Row<'_>]) {
    let Some((column, desc)) = sorted(view, id) else { return };
    let Some(col) = columns.iter().find(|c| c.name == column) else { return };
    rows.sort_by(|a, b| {
        let turn = |o: Ordering| if desc { o.reverse() } else { o };
        if col.kind.is_number() {
            return match (a.number(column), b.number(column)) {
                (Some(a), Some(b)) => turn(a.order(b)),
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
        }
        turn(a.word(column).cmp(&b.word(column)))
    });
}

impl Table {
    /// The table of a report, in its own order unless the address says another.
    pub(super) fn of(view: &View, report: Report<'_>, shown: Shown<'_>, csv: Option<String>) -> Self {
        let mut rows = report.rows();
        sort(view, shown.id, shown.columns, &mut rows);
        Self::made(view, &rows, report.total(), report.currency(), shown, csv)
    }

    /// The table of some rows.
    pub(super) fn made(
        view: &View,
        rows: &[Row<'_>],
        total: Option<Row<'_>>,
        currency: Option<&str>,
        shown: Shown<'_>,
        csv: Option<String>,
    ) -> Self {
        let cells = |row: Row<'_>| shown.columns.iter().map(|c| cell(view, *c, row, currency)).collect::<Vec<_>>();
        let kept = rows.len().min(shown.most);
        let numbers = shown.columns.iter().filter(|c| c.kind.is_number()).count();
        let linked = |row: Row<'_>| {
            let mut cells = cells(row);
            // a number leads to what its row is made of, where it leads nowhere else; of a large table one cell of the row does
            let lead = cells.iter().find_map(|c| c.href.clone()).filter(|l| l.len() * numbers * kept <= LINKS_BYTES);
            let bare = cells.iter_mut().filter(|c| c.number && !c.unknown && c.href.is_none());
            bare.for_each(|c| c.href.clone_from(&lead));
            cells
        };
        let total = total.filter(|_| !rows.is_empty()).map(|t| {
            let mut cells: Vec<Cell> = cells(t).into_iter().map(|c| Cell { href: None, ..c }).collect();
            // columns that say what a row is about have no sum
            for (c, col) in cells.iter_mut().zip(shown.columns).filter(|(_, col)| !col.kind.is_number()) {
                c.text = t.word(col.name);
            }
            if let Some(first) = cells.first_mut() {
                first.text = view.word("table.total");
            }
            cells
        });
        Self {
            id: shown.id,
            caption: view.word(shown.caption),
            heads: heads(view, shown.id, shown.columns),
            rows: rows[..kept].iter().map(|r| Line { cells: linked(*r), more: None }).collect(),
            total,
            csv,
            empty: view.word(shown.empty),
            cut: (kept < rows.len())
                .then(|| view.say("table.cut", &[("shown", &kept.to_string()), ("all", &rows.len().to_string())])),
        }
    }

    /// Puts a column of drawings or words behind the others.
    pub(super) fn push(&mut self, view: &View, head: &str, cells: Vec<Cell>, total: Cell) {
        let number = cells.first().is_some_and(|c| c.number);
        self.heads.push(Head::plain(view.word(head), number));
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.cells.push(cell);
        }
        if let Some(all) = &mut self.total {
            all.push(total);
        }
    }
}
