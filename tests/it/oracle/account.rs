//! From milliseconds of parts to whole rows: shares settle inside a (card, cell), busy inside a (card, cell, holder).

use std::collections::BTreeSet;

use gpuledger_schema::unit::{CARD_UNITS, PPM};

use super::card::{CardCell, Part};
use super::split::{largest_remainder, telescope};
use super::{Facts, Line};

/// Covered, held unmeasured, unallocated, unavailable, unobserved, in share units x ms.
fn classes(p: &Part) -> [i64; 5] {
    let len = p.to - p.from;
    let (all, ok, rest) = (p.units * len, p.units * p.ok, p.units * (len - p.ok));
    match (p.holder != 0, p.failed, p.down, p.up) {
        (_, true, _, _) => [0, 0, 0, all, 0],
        (true, false, _, _) => [ok, rest, 0, 0, 0],
        (false, false, true, _) => [0, 0, 0, all, 0],
        (false, false, false, true) => [0, 0, all, 0, 0],
        (false, false, false, false) => [0, 0, ok, 0, rest],
    }
}

/// Whole milliseconds of every part of a cell, five classes each.
pub(super) fn settle(cell: &CardCell) -> Vec<[i64; 5]> {
    let mut all: Vec<(usize, i64, i64, usize, i64)> = Vec::new();
    for (i, p) in cell.parts.iter().enumerate() {
        for (class, v) in classes(p).into_iter().enumerate() {
            all.push((class, p.holder, p.from, i, v));
        }
    }
    all.sort_unstable();
    let values: Vec<i64> = all.iter().map(|a| a.4).collect();
    let mut out = vec![[0; 5]; cell.parts.len()];
    for ((class, _, _, i, _), whole) in all.into_iter().zip(largest_remainder(&values, CARD_UNITS)) {
        out[i][class] = whole;
    }
    out
}

fn basis(rank: usize) -> String {
    ["", "gpu", "sm", "sm+dram", "sm+dram+tensor"][rank].to_owned()
}

/// Rows of usage of cards; nobody's rows that a stand-in replaces are left out.
pub(super) fn lines(cards: &[CardCell], replaced: &BTreeSet<(i64, i64)>) -> Vec<Line> {
    let mut out = Vec::new();
    for cell in cards {
        let lines = cell_lines(cell);
        out.extend(lines.into_iter().filter(|l| l.holder != 0 || !replaced.contains(&(l.unit, l.cell))));
    }
    out
}

fn cell_lines(cell: &CardCell) -> Vec<Line> {
    let whole = settle(cell);
    let mut order: Vec<usize> = (0..cell.parts.len()).collect();
    order.sort_by_key(|i| (cell.parts[*i].holder, cell.parts[*i].from));
    let greatest = order.iter().copied().min_by_key(|i| {
        let p = &cell.parts[*i];
        (-p.units, -p.holder, p.from)
    });
    let mut out: Vec<Line> = Vec::new();
    let mut upto = 0;
    for i in order {
        let (p, c) = (&cell.parts[i], whole[i]);
        let first = out.last().is_none_or(|l| l.holder != p.holder);
        if first {
            upto = 0;
        }
        let all: i64 = (0..whole.len()).filter(|k| cell.parts[*k].holder == p.holder).map(|k| whole[k][0]).sum();
        let ran = if p.holder == 0 { 0 } else { cell.ran.get(&p.holder).map_or(0, |r| r.0) };
        let capped = ran.min(all);
        let busy = if all == 0 { 0 } else { telescope(capped, upto, upto + c[0], all) };
        upto += c[0];
        let held = p.holder != 0;
        out.push(Line {
            unit: cell.device,
            cell: cell.cell,
            holder: p.holder,
            from: p.from,
            to: p.to,
            busy,
            idle: c[0] - busy,
            unmeasured: c[1],
            unallocated: c[2],
            unavailable: c[3],
            unobserved: c[4],
            covered: c[0],
            effective: p.work.filter(|_| held && c[0] > 0).map(|w| ((w + PPM / 2) / PPM).min(c[0])),
            zero: if held && !p.failed { (p.units * p.zero / CARD_UNITS).min(c[0]) } else { 0 },
            over_share: if held && first { ran - capped } else { 0 },
            conflict: p.over * (p.to - p.from) / CARD_UNITS,
            estimated: if p.failed { 0 } else { p.units * p.bridged / CARD_UNITS },
            foreign: 0,
            mem_peak: p.mem,
            energy: if Some(i) == greatest { cell.energy } else { None },
            basis: p.basis.map(basis),
            capacity_unknown: false,
            stranded: Some(if !held && p.units < CARD_UNITS { c[2] } else { 0 }),
        });
        if Some(i) == greatest {
            let covered: i64 = (0..whole.len()).filter(|k| cell.parts[*k].holder < 0).map(|k| whole[k][0]).sum();
            let outside = cell.ran.get(&-cell.device).map_or(0, |r| r.0);
            out.last_mut().expect("pushed").foreign = (outside - covered).max(0);
        }
    }
    out
}

/// Where nothing was measured and the source gives an average of the run: effective = held x average.
pub(super) fn averages(facts: &Facts, lines: &mut [Line]) {
    for l in lines.iter_mut().filter(|l| l.covered == 0) {
        let of = facts.job_average.iter().filter(|a| a.allocation_id == l.holder && a.measure == "gpu_util");
        if let Some(average) = of.max_by_key(|a| (a.as_of_ms, a.value)) {
            l.effective = Some((l.unmeasured * average.value + PPM / 2) / PPM);
            l.basis = Some("gpu".to_owned());
        }
    }
}
