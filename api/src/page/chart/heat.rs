//! A heat map: a row a card, a column an hour or day. Cells of one shade are one path, so that a fleet's map stays small.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Class, escaped, open};

/// Busy shares in fifths, darker is busier; then what has no share: not measured, free, out of order, not seen.
const SHADES: usize = 5;
const SHADE_FILLS: [&str; SHADES] = ["#f59e0b", "#d9a441", "#8fb39a", "#4a948a", "#0f766e"];

/// What a cell shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::page) enum Heat {
    /// Busy so many thousandths of what was measured.
    Busy(u16),
    /// Something else most of the time.
    Mostly(Class),
}

impl Heat {
    /// What a character of `report hours` or `report week` says; none where nothing is known.
    pub(in crate::page) fn told(word: char) -> Option<Self> {
        match word {
            'i' => Some(Self::Mostly(Class::Idle)),
            'm' => Some(Self::Mostly(Class::Unmeasured)),
            'f' => Some(Self::Mostly(Class::Unallocated)),
            'x' => Some(Self::Mostly(Class::Unavailable)),
            'o' => Some(Self::Mostly(Class::Unobserved)),
            _ => word.to_digit(10).and_then(|d| u16::try_from(d * 1000 / 9).ok()).map(Self::Busy),
        }
    }

    fn fill(self) -> &'static str {
        match self {
            Self::Busy(share) => SHADE_FILLS[(usize::from(share) * SHADES / 1001).min(SHADES - 1)],
            Self::Mostly(class) => class.fill(),
        }
    }
}

/// Strokes of one shade, each told from the end of the one before: a month of hours of a fleet is some ten thousand of them.
#[derive(Default)]
struct Path {
    d: String,
    at: (i128, i128),
}

impl Path {
    fn stroke(&mut self, from: i128, to: i128, y: i128) {
        // the first move counts from the origin, relative or not
        let _ = write!(self.d, "m{} {}h{}", from - self.at.0, y - self.at.1, to - from);
        self.at = (to, y);
    }
}

const CELL_HIGH: i128 = 12;
const LABEL: i128 = 150;
const WIDTH: i128 = 900;
const FOOT: i128 = 18;

/// The map: rows with their labels, labels of some columns, and for each row a cell a column (absent: nothing known).
pub(in crate::page) fn heat(
    id: &str,
    rows: &[(String, Vec<Option<Heat>>)],
    labels: &[(usize, String)],
    title: &str,
    says: &str,
) -> String {
    let columns = i128::try_from(rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(1).max(1)).unwrap_or(1);
    let n = i128::try_from(rows.len()).unwrap_or(0);
    let x = |i: usize| LABEL + i128::try_from(i).unwrap_or(0) * (WIDTH - LABEL) / columns;
    let mut out = open(id, "heat", (WIDTH, n * CELL_HIGH + FOOT), false, (title, says));
    let mut paths: BTreeMap<&str, Path> = BTreeMap::new();
    for (r, (label, cells)) in rows.iter().enumerate() {
        let y = i128::try_from(r).unwrap_or(0) * CELL_HIGH;
        let _ = write!(out, r#"<text class="tick" x="0" y="{}">{}</text>"#, y + CELL_HIGH - 3, escaped(label));
        let mut i = 0;
        while i < cells.len() {
            // neighbours of one shade are one stroke
            let shade = cells[i].map(Heat::fill);
            let end = (i..cells.len()).find(|j| cells[*j].map(Heat::fill) != shade).unwrap_or(cells.len());
            if let Some(fill) = shade.filter(|_| x(end) > x(i)) {
                paths.entry(fill).or_default().stroke(x(i), x(end), y + CELL_HIGH / 2);
            }
            i = end;
        }
    }
    for (fill, path) in &paths {
        let _ = write!(out, r#"<path stroke="{fill}" stroke-width="{}" d="{}"/>"#, CELL_HIGH - 1, path.d);
    }
    for (i, label) in labels {
        let _ = write!(
            out,
            r#"<text class="tick" x="{}" y="{}">{}</text>"#,
            x(*i),
            n * CELL_HIGH + FOOT - 4,
            escaped(label)
        );
    }
    out.push_str("</svg>");
    out
}

/// The scale beside a map: fills from least to most busy.
pub(in crate::page) const fn shades() -> [&'static str; SHADES] {
    SHADE_FILLS
}
