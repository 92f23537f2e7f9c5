//! Curves over time: a small one beside a number, and a large one with axis, limit and a forecast with its interval.

use std::fmt::Write as _;

use super::{escaped, open};

/// A curve: a value a step; absent where it is not known, and then the line is broken.
#[derive(Debug, Clone)]
pub(in crate::page) struct Curve {
    /// Class of the style sheet: `c1` to `c5`, `money`.
    pub(in crate::page) class: &'static str,
    /// Its name.
    pub(in crate::page) name: String,
    /// Values in whole units.
    pub(in crate::page) values: Vec<Option<i128>>,
}

/// Where a curve will end: from its last known value to the last step.
#[derive(Debug, Clone, Copy)]
pub(in crate::page) struct Forecast {
    /// The least that is expected.
    pub(in crate::page) low: i128,
    /// What is expected.
    pub(in crate::page) middle: i128,
    /// The most that is expected.
    pub(in crate::page) high: i128,
}

/// What a chart of curves shows.
#[derive(Debug, Clone)]
pub(in crate::page) struct Series {
    /// The curves, all with as many steps.
    pub(in crate::page) curves: Vec<Curve>,
    /// Labels of some steps: place and text.
    pub(in crate::page) labels: Vec<(usize, String)>,
    /// Steps on the axis.
    pub(in crate::page) steps: usize,
    /// A line across, with its words.
    pub(in crate::page) limit: Option<(i128, String)>,
    /// Where the first curve ends.
    pub(in crate::page) forecast: Option<Forecast>,
    /// What the top of the axis is called, for a value.
    pub(in crate::page) top: (i128, String),
}

const WIDTH: i128 = 520;
const HEIGHT: i128 = 190;
const LEFT: i128 = 8;
const RIGHT: i128 = 8;
const TOP: i128 = 18;
const BOTTOM: i128 = 22;

/// The chart.
pub(in crate::page) fn series(id: &str, of: &Series, title: &str, says: &str) -> String {
    let n = i128::try_from(of.steps.max(2)).unwrap_or(2) - 1;
    let x = |i: i128| LEFT + i * (WIDTH - LEFT - RIGHT) / n;
    let top = of.top.0.max(1);
    let base = HEIGHT - BOTTOM;
    let y = |v: i128| base - v.clamp(0, top) * (base - TOP) / top;
    let mut out = open(id, "series", (WIDTH, HEIGHT), false, (title, says));
    let right = WIDTH - RIGHT;
    let _ = write!(
        out,
        r#"<path class="axis" d="M{LEFT} {TOP}H{right}M{LEFT} {base}H{right}"/><text class="tick" x="{LEFT}" y="{}">{}</text>"#,
        TOP - 5,
        escaped(&of.top.1)
    );
    if let Some((value, words)) = &of.limit {
        let at = y(*value);
        let _ = write!(
            out,
            r#"<path class="limit" d="M{LEFT} {at}H{right}"/><text class="tick" x="{right}" y="{}" text-anchor="end">{}</text>"#,
            at - 4,
            escaped(words)
        );
    }
    if let Some(f) = &of.forecast {
        let last = of.curves.first().and_then(|c| {
            let known = c.values.iter().enumerate().rev().find_map(|(i, v)| v.map(|v| (i, v)));
            known.map(|(i, v)| (i128::try_from(i).unwrap_or(0), v))
        });
        if let Some((at, value)) = last {
            let (x0, y0) = (x(at), y(value));
            let _ = write!(
                out,
                r#"<path class="interval" d="M{x0} {y0}L{right} {}V{}Z"/><path class="forecast" d="M{x0} {y0}L{right} {}"/>"#,
                y(f.high),
                y(f.low),
                y(f.middle)
            );
        }
    }
    for curve in &of.curves {
        let d = path(&curve.values, x, y);
        let name = escaped(&curve.name);
        let _ = write!(
            out,
            r#"<path class="halo" d="{d}"/><path class="curve {}" d="{d}"><title>{name}</title></path>"#,
            curve.class
        );
    }
    for (i, label) in &of.labels {
        let i = i128::try_from(*i).unwrap_or(0);
        let anchor = if i == 0 {
            "start"
        } else if i >= n {
            "end"
        } else {
            "middle"
        };
        let _ = write!(
            out,
            r#"<text class="tick" x="{}" y="{}" text-anchor="{anchor}">{}</text>"#,
            x(i),
            HEIGHT - 6,
            escaped(label)
        );
    }
    out.push_str("</svg>");
    out
}

/// A line through the known values, broken where one is not known.
fn path(values: &[Option<i128>], x: impl Fn(i128) -> i128, y: impl Fn(i128) -> i128) -> String {
    let mut d = String::new();
    let mut down = false;
    for (i, value) in values.iter().enumerate() {
        let Some(value) = value else {
            down = false;
            continue;
        };
        let i = i128::try_from(i).unwrap_or(0);
        let _ = write!(d, "{}{} {}", if down { 'L' } else { 'M' }, x(i), y(*value));
        // a value between two that are not known is a point
        if !down {
            d.push_str("h1");
        }
        down = true;
    }
    d
}

/// A small curve beside a number, hidden from screen readers: the numbers stand beside it.
pub(in crate::page) fn spark(values: &[Option<i128>]) -> String {
    let greatest = values.iter().flatten().copied().max().unwrap_or(0).max(1);
    let n = i128::try_from(values.len().max(2)).unwrap_or(2) - 1;
    let d = path(values, |i| 1 + i * 78 / n, |v| 19 - v.clamp(0, greatest) * 17 / greatest);
    format!(
        concat!(
            r#"<svg class="spark" viewBox="0 0 80 20" width="80" height="20" aria-hidden="true" focusable="false">"#,
            r#"<path class="halo" d="{d}"/><path class="curve money" d="{d}"/></svg>"#
        ),
        d = d
    )
}
