//! Curves of a run on one time axis: SM, DRAM and tensor activity and memory, the mean over its cards.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;
use serde_json::Value as Json;

use super::{Curve, Series, chart, named};
use crate::page::view::View;

/// The curves, and their means in words.
#[derive(Debug, Serialize)]
pub(super) struct Curves {
    svg: Value,
    names: Vec<(String, String)>,
}

/// Steps on the axis at most: more minutes are averaged.
const STEPS: usize = 240;
/// Columns of the minutes, their words and how they look.
const ACTIVITY: [(&str, &str, &str); 3] =
    [("sm_ppm", "job.sm", "c1"), ("dram_ppm", "job.dram", "c2"), ("tensor_ppm", "job.tensor", "c3")];

pub(super) fn curves(view: &View, document: &Json) -> Option<Curves> {
    let minutes = named(document, "minutes");
    let mut by_tick: BTreeMap<&str, Vec<&BTreeMap<&str, &str>>> = BTreeMap::new();
    for row in &minutes {
        by_tick.entry(row.get("tick_ms").copied()?).or_default().push(row);
    }
    let ticks: Vec<&str> = by_tick.keys().copied().collect();
    if ticks.len() < 2 {
        return None;
    }
    let together = ticks.len().div_ceil(STEPS);
    let steps = ticks.len().div_ceil(together);
    let mean = |column: &str| -> Vec<Option<i128>> {
        let of = |chunk: &[&str]| {
            let rows = chunk.iter().filter_map(|t| by_tick.get(t)).flatten();
            let known: Vec<i128> = rows.filter_map(|r| r.get(column)?.parse().ok()).collect();
            (!known.is_empty()).then(|| known.iter().sum::<i128>() / known.len() as i128)
        };
        ticks.chunks(together).map(of).collect()
    };
    let mut all: Vec<(Curve, &str)> = ACTIVITY
        .into_iter()
        .map(|(column, word, class)| (Curve { class, name: view.word(word), values: mean(column) }, class))
        .collect();
    all.push((
        Curve { class: "c4", name: view.word("job.memory_peak"), values: scaled(&mean("mem_peak_bytes")) },
        "c4",
    ));
    all.retain(|(c, _)| c.values.iter().any(Option::is_some));
    let names = all.iter().map(|(c, class)| (c.name.clone(), (*class).to_owned())).collect();
    let label = |i: usize| (i, ticks[(i * together).min(ticks.len() - 1)].get(5..16).unwrap_or_default().to_owned());
    let series = Series {
        curves: all.into_iter().map(|(c, _)| c).collect(),
        labels: vec![label(0), label(steps / 2), label(steps - 1)],
        steps,
        limit: None,
        forecast: None,
        top: (1_000_000, "100 %".to_owned()),
    };
    let svg = chart::series("curves", &series, &view.word("job.curves"), &view.word("job.curves_say"));
    Some(Curves { svg: Value::from_safe_string(svg), names })
}

/// Values as millionths of the greatest.
fn scaled(values: &[Option<i128>]) -> Vec<Option<i128>> {
    let top = values.iter().flatten().copied().max().unwrap_or(0).max(1);
    values.iter().map(|v| v.map(|v| v * 1_000_000 / top)).collect()
}
