//! Columns of stacked classes over time: one column a day or hour, as high as the capacity that was known then.

use std::fmt::Write as _;

use super::{Class, escaped, open};

/// A column: a label and how much there is of each class.
#[derive(Debug, Clone)]
pub(in crate::page) struct Column {
    /// Its label, which stands below where there is room.
    pub(in crate::page) label: String,
    /// Sizes of the classes in the order of [`Class::ALL`].
    pub(in crate::page) sizes: [i128; 6],
    /// What it says on hover.
    pub(in crate::page) says: String,
}

const WIDTH: i128 = 620;
const HEIGHT: i128 = 190;
const LEFT: i128 = 8;
const BOTTOM: i128 = 22;
const TOP: i128 = 18;

/// The chart; `top` is what the greatest column is called on the axis.
pub(in crate::page) fn stack(id: &str, columns: &[Column], top: &str, title: &str, says: &str) -> String {
    let whole = |c: &Column| c.sizes.iter().sum::<i128>();
    let greatest = columns.iter().map(whole).max().unwrap_or(0).max(1);
    let n = i128::try_from(columns.len().max(1)).unwrap_or(1);
    let high = HEIGHT - TOP - BOTTOM;
    let mut out = open(id, "stack", (WIDTH, HEIGHT), false, (title, says));
    let base = HEIGHT - BOTTOM;
    let _ = write!(
        out,
        r#"<path class="axis" d="M{LEFT} {TOP}H{WIDTH}M{LEFT} {base}H{WIDTH}"/><text class="tick" x="{LEFT}" y="{}">{}</text>"#,
        TOP - 5,
        escaped(top)
    );
    let every = n / 8 + 1;
    for (i, column) in columns.iter().enumerate() {
        let i = i128::try_from(i).unwrap_or(0);
        let edge = |i: i128| LEFT + i * (WIDTH - LEFT) / n;
        let (from, width) = (edge(i), (edge(i + 1) - edge(i) - i128::from(n < 100)).max(1));
        let _ = write!(out, "<g><title>{}</title>", escaped(&column.says));
        let mut done = 0;
        for (class, size) in Class::ALL.into_iter().zip(column.sizes).filter(|(_, size)| *size > 0) {
            let below = base - done * high / greatest;
            done += size;
            let above = base - done * high / greatest;
            if below > above {
                let _ = write!(
                    out,
                    r#"<rect x="{from}" y="{above}" width="{width}" height="{}" fill="{}"/>"#,
                    below - above,
                    class.fill()
                );
            }
        }
        out.push_str("</g>");
        if i % every == 0 {
            let _ = write!(
                out,
                r#"<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>"#,
                from + width / 2,
                HEIGHT - 6,
                escaped(&column.label)
            );
        }
    }
    out.push_str("</svg>");
    out
}

/// Units across and down a strip.
const STRIP: (i128, i128) = (1000, 28);

/// A strip without axis: how the time of one card was split, step by step. Its ends are said beside it.
pub(in crate::page) fn strip(id: &str, columns: &[Column], title: &str, says: &str) -> String {
    let whole = |c: &Column| c.sizes.iter().sum::<i128>();
    let greatest = columns.iter().map(whole).max().unwrap_or(0).max(1);
    let n = i128::try_from(columns.len().max(1)).unwrap_or(1);
    let mut out = open(id, "strip-line", STRIP, true, (title, says));
    for (i, column) in (0..).zip(columns) {
        let from = i * STRIP.0 / n;
        let width = (i + 1) * STRIP.0 / n - from;
        let _ = write!(out, "<g><title>{}</title>", escaped(&column.says));
        let mut done = 0;
        for (class, size) in Class::ALL.into_iter().zip(column.sizes).filter(|(_, size)| *size > 0) {
            let below = STRIP.1 - done * STRIP.1 / greatest;
            done += size;
            let high = below - (STRIP.1 - done * STRIP.1 / greatest);
            let _ = write!(
                out,
                r#"<rect x="{from}" y="{}" width="{width}" height="{high}" fill="{}"/>"#,
                below - high,
                class.fill()
            );
        }
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    out
}
