//! Pages as lists of what stands where, in twentieths of a point from the upper left corner. Everything is decided here;
//! drawing only draws.

use super::color::{Color, INK, MONEY, QUIET, RULE};
use super::fonts::{Fonts, Weight};
use super::measure::{Letters, Twip, cut, width, wrap};

/// A4.
pub(super) const PAGE: (Twip, Twip) = (11_906, 16_838);
/// Left and right of what is printed.
pub(super) const LEFT: Twip = 960;
/// Right edge of what is printed.
pub(super) const RIGHT: Twip = PAGE.0 - LEFT;
const TOP: Twip = 900;
const BOTTOM: Twip = PAGE.1 - 1_100;

/// Something on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A text whose base line begins at a point.
    Text { at: (Twip, Twip), letters: Letters, color: Color, text: String },
    /// A filled rectangle: left, top, width, height.
    Filled { area: [Twip; 4], color: Color },
    /// A rectangle of oblique lines, for what was not measured.
    Hatched { area: [Twip; 4], color: Color },
    /// A horizontal line: left, top, width.
    Rule { line: [Twip; 3], color: Color },
}

/// Where a text stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A column of a table: its left edge, width and side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) left: Twip,
    pub(super) width: Twip,
    pub(super) side: Side,
}

/// Letters of plain text.
pub(super) const PLAIN: Letters = Letters { size: 180, weight: Weight::Regular };
/// Letters of headings of sections.
pub(super) const HEADING: Letters = Letters { size: 220, weight: Weight::Bold };
/// Letters of tables.
pub(super) const SMALL: Letters = Letters { size: 150, weight: Weight::Regular };
/// Letters of what stands out in tables.
pub(super) const STRONG: Letters = Letters { size: 150, weight: Weight::Bold };

/// Pages that are being filled from the top.
pub(super) struct Pages<'a> {
    pub(super) fonts: &'a Fonts,
    pub(super) done: Vec<Vec<Item>>,
    /// Where the next thing begins.
    pub(super) y: Twip,
}

impl<'a> Pages<'a> {
    pub(super) fn new(fonts: &'a Fonts) -> Self {
        Self { fonts, done: vec![Vec::new()], y: TOP }
    }

    /// Begins a new page.
    pub(super) fn turn(&mut self) {
        self.done.push(Vec::new());
        self.y = TOP;
    }

    /// Whether so much height is left on this page.
    pub(super) fn has_room(&self, height: Twip) -> bool {
        self.y + height <= BOTTOM
    }

    pub(super) fn add(&mut self, item: Item) {
        if let Some(page) = self.done.last_mut() {
            page.push(item);
        }
    }

    /// A text at a point.
    pub(super) fn text(&mut self, at: (Twip, Twip), letters: Letters, color: Color, text: &str) {
        self.add(Item::Text { at, letters, color, text: text.to_owned() });
    }

    /// A text in a column, on the base line `y`. A number that is too wide is set smaller, never cut; other text is cut.
    pub(super) fn cell(&mut self, column: Column, y: Twip, letters: Letters, color: Color, text: &str) {
        match column.side {
            Side::Left => {
                let text = cut(self.fonts, letters, text, column.width);
                self.text((column.left, y), letters, color, &text);
            }
            Side::Right => {
                let mut letters = letters;
                while width(self.fonts, letters, text) > column.width && letters.size > 60 {
                    letters.size -= 5;
                }
                let left = column.left + column.width - width(self.fonts, letters, text);
                self.text((left, y), letters, color, text);
            }
        }
    }

    /// A paragraph over the whole width, at most so many lines.
    pub(super) fn paragraph(&mut self, letters: Letters, color: Color, text: &str, lines: usize) {
        let step = letters.size * 3 / 2;
        for line in wrap(self.fonts, letters, text, RIGHT - LEFT, lines) {
            self.y += step;
            self.text((LEFT, self.y), letters, color, &line);
        }
        self.y += letters.size / 2;
    }

    /// A heading of a section.
    pub(super) fn heading(&mut self, text: &str) {
        self.y += 200;
        self.paragraph(HEADING, MONEY, text, 2);
    }

    /// A line over the whole width.
    pub(super) fn rule(&mut self, color: Color) {
        self.add(Item::Rule { line: [LEFT, self.y, RIGHT - LEFT], color });
    }

    /// The headings of a table: each at most two lines, standing on a rule.
    pub(super) fn heads(&mut self, columns: &[Column], names: &[&str]) {
        let wrapped: Vec<Vec<String>> =
            columns.iter().zip(names).map(|(c, n)| wrap(self.fonts, SMALL, n, c.width, 2)).collect();
        let deepest = wrapped.iter().map(Vec::len).max().unwrap_or(1) as Twip;
        let step = SMALL.size * 5 / 4;
        for (column, lines) in columns.iter().zip(&wrapped) {
            let first = self.y + step * (deepest - lines.len() as Twip + 1);
            for (i, line) in (0..).zip(lines) {
                self.cell(*column, first + step * i, SMALL, QUIET, line);
            }
        }
        self.y += step * deepest + 80;
        self.rule(MONEY);
        self.y += 40;
    }

    /// A row of a table on one line.
    pub(super) fn row(&mut self, columns: &[Column], letters: Letters, cells: &[String]) {
        self.y += 240;
        for (column, cell) in columns.iter().zip(cells) {
            self.cell(*column, self.y - 70, letters, INK, cell);
        }
        self.rule(RULE);
    }
}
