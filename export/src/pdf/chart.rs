//! The chart of a statement: held time as bars, by task type or, where there is one type alone, by model.

use gpuledger_schema::table::StatementLineRow;

use super::color::{BUSY, Color, HELD_IDLE, HELD_UNMEASURED, INK, QUIET};
use super::measure::{Twip, width};
use super::page::{Column, Item, LEFT, Pages, RIGHT, SMALL, Side};
use crate::number::{hours, percent};
use crate::sums::{Sums, by};
use crate::text::Lang;

/// Bars at most; what is beyond is one bar together.
const BARS_MAX: usize = 7;
const NAME: Column = Column { left: LEFT, width: 2_300, side: Side::Left };
const BAR_LEFT: Twip = LEFT + 2_400;
const BAR_MAX: Twip = 5_000;
const VALUE: Column =
    Column { left: BAR_LEFT + BAR_MAX + 100, width: RIGHT - BAR_LEFT - BAR_MAX - 100, side: Side::Right };
const STEP: Twip = 300;

/// Bars with their names, the longest first.
fn bars(lines: &[&StatementLineRow], lang: Lang) -> (&'static str, Vec<(String, Sums)>) {
    let held = || lines.iter().copied().filter(|l| l.held_ms > 0);
    let types = by(held(), |l| l.task_type.as_deref());
    let (key, groups) = if types.len() > 1 {
        ("chart.by_task_type", types)
    } else {
        ("chart.by_model", by(held(), |l| l.model.as_deref()))
    };
    let name = |n: Option<&str>| n.unwrap_or_else(|| lang.say("chart.none")).to_owned();
    let mut bars: Vec<(String, Sums)> = groups.into_iter().map(|(n, sums)| (name(n), sums)).collect();
    bars.sort_by(|a, b| (b.1.held_ms, &a.0).cmp(&(a.1.held_ms, &b.0)));
    if bars.len() > BARS_MAX {
        let mut rest = Sums::default();
        bars.drain(BARS_MAX - 1..).for_each(|(_, sums)| rest.plus(&sums));
        bars.push((lang.say("word.others").to_owned(), rest));
    }
    (key, bars)
}

/// Draws the chart where anything was held.
pub(super) fn draw(pages: &mut Pages<'_>, lines: &[&StatementLineRow], lang: Lang) {
    let (key, bars) = bars(lines, lang);
    let all: i128 = bars.iter().map(|(_, s)| s.held_ms).sum();
    let (Some((first, sums)), true) = (bars.first(), all > 0) else { return };
    if !pages.has_room(STEP * (bars.len() as Twip + 3) + 500) {
        pages.turn();
    }
    let title = lang.fill(key, &[("name", first), ("held", &hours(sums.held_ms)), ("all", &hours(all))]);
    pages.heading(&title);
    legend(pages, lang);
    let longest = sums.held_ms;
    for (name, sums) in &bars {
        pages.y += STEP;
        let top = pages.y - 170;
        pages.cell(NAME, pages.y, SMALL, INK, name);
        let mut left = BAR_LEFT;
        let parts = [(sums.busy_ms, BUSY), (sums.held_idle_ms, HELD_IDLE), (sums.held_unmeasured_ms, HELD_UNMEASURED)];
        let mut until = 0;
        for (ms, color) in parts {
            // edges are placed by what is before them, so that parts end where the whole ends
            until += ms;
            let right = BAR_LEFT + (until * i128::from(BAR_MAX) / longest.max(1)) as Twip;
            bar(pages, [left, top, right - left, 200], color);
            left = right;
        }
        let value = match percent(sums.busy_ms, sums.held_ms).filter(|_| !sums.unknown_use()) {
            Some(busy) => format!("{} h · {busy} {}", hours(sums.held_ms), lang.say("class.busy")),
            None => format!("{} h", hours(sums.held_ms)),
        };
        pages.cell(VALUE, pages.y, SMALL, INK, &value);
    }
    pages.y += 100;
}

fn bar(pages: &mut Pages<'_>, area: [Twip; 4], color: Color) {
    if area[2] <= 0 {
        return;
    }
    pages.add(if color == HELD_UNMEASURED { Item::Hatched { area, color } } else { Item::Filled { area, color } });
}

fn legend(pages: &mut Pages<'_>, lang: Lang) {
    let entries = [
        (BUSY, lang.say("class.busy")),
        (HELD_IDLE, lang.say("class.held_idle")),
        (HELD_UNMEASURED, lang.say("class.held_unmeasured")),
    ];
    pages.y += 160;
    let mut left = BAR_LEFT;
    for (color, name) in entries {
        bar(pages, [left, pages.y - 120, 200, 130], color);
        let y = pages.y;
        pages.text((left + 260, y), SMALL, QUIET, name);
        left += 260 + width(pages.fonts, SMALL, name) + 300;
    }
}
