//! One stacked bar: the parts of a whole, adding up to it.

use std::fmt::Write as _;

use super::{Class, escaped, open};

/// A part of a bar.
#[derive(Debug, Clone)]
pub(in crate::page) struct Part {
    /// Its class.
    pub(in crate::page) class: Class,
    /// How much, in any unit that the other parts have too.
    pub(in crate::page) size: i128,
    /// What it says on hover.
    pub(in crate::page) says: String,
}

/// Width of the bar in its own units.
const WIDTH: i128 = 1000;
/// Height of the bar.
const HEIGHT: i128 = 40;

/// The bar. Edges are cut where the running sum lies, so that the parts fill it exactly.
pub(in crate::page) fn bar(id: &str, parts: &[Part], title: &str, says: &str) -> String {
    let whole: i128 = parts.iter().map(|p| p.size.max(0)).sum();
    let mut out = open(id, "bar", (WIDTH, HEIGHT), true, (title, says));
    if whole == 0 {
        let _ = write!(out, r#"<rect class="none" x="0" y="0" width="{WIDTH}" height="{HEIGHT}"/></svg>"#);
        return out;
    }
    let mut done = 0;
    for part in parts.iter().filter(|p| p.size > 0) {
        let from = done * WIDTH / whole;
        done += part.size;
        let width = done * WIDTH / whole - from;
        // what is there is seen, however small
        let _ = write!(
            out,
            r#"<rect x="{from}" y="0" width="{}" height="{HEIGHT}" fill="{}" stroke="{}"><title>{}</title></rect>"#,
            width.max(2),
            part.class.fill(),
            part.class.stroke(),
            escaped(&part.says)
        );
    }
    out.push_str("</svg>");
    out
}
