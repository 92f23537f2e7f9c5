//! The daily sweep: what was scanned, what was found, what could not be judged and why. One dated report a day.

use std::collections::BTreeMap;

use gpuledger_schema::reclaim::{Class, Snapshot, Verdict};
use serde::Serialize;

use crate::plan::Plan;
use crate::text::utc;

/// A sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sweep {
    /// When, epoch ms.
    pub at_ms: i64,
    /// Allocations looked at.
    pub scanned: i64,
    /// That work.
    pub busy: i64,
    /// That are idle.
    pub idle: i64,
    /// That work too little; they count as busy, too.
    pub low: i64,
    /// Of which nobody can say, by reason. One may have several.
    pub unknown: BTreeMap<String, i64>,
    /// Of which nobody can say.
    pub unknown_in_all: i64,
    /// Idle by class.
    pub classes: BTreeMap<String, i64>,
    /// Open cases by state.
    pub cases: BTreeMap<String, i64>,
    /// What was left alone in this round, by reason.
    pub left: BTreeMap<String, i64>,
    /// What stops the engine.
    pub stops: Vec<String>,
}

/// The sweep of a snapshot and its plan.
pub fn sweep(snapshot: &Snapshot, plan: &Plan) -> Sweep {
    let mut s = Sweep { at_ms: snapshot.at_ms, ..Sweep::default() };
    let add = |to: &mut BTreeMap<String, i64>, key: String| *to.entry(key).or_default() += 1;
    for a in &snapshot.allocations {
        s.scanned += 1;
        match a.judgement.verdict {
            Verdict::Busy => s.busy += 1,
            Verdict::Idle => s.idle += 1,
            Verdict::Unknown => {
                s.unknown_in_all += 1;
                a.judgement.reasons.iter().for_each(|r| add(&mut s.unknown, r.to_string()));
            }
        }
        s.low += i64::from(a.judgement.classes.contains(&Class::LowUse));
        a.judgement.classes.iter().for_each(|c| add(&mut s.classes, c.to_string()));
    }
    snapshot.cases.iter().for_each(|c| add(&mut s.cases, c.state.to_string()));
    plan.body.left.iter().for_each(|l| add(&mut s.left, l.why.to_string()));
    s.stops = plan.body.stops.iter().map(|x| format!("{}: {}", x.kind, x.why)).collect();
    s
}

impl Sweep {
    /// The report as text.
    pub fn text(&self) -> String {
        let list = |m: &BTreeMap<String, i64>| m.iter().map(|(k, n)| format!("{k} {n}")).collect::<Vec<_>>().join(", ");
        let mut out = vec![
            format!("sweep of {}", utc(self.at_ms)),
            format!(
                "scanned {}: busy {} (low use {}), idle {}, unknown {}",
                self.scanned, self.busy, self.low, self.idle, self.unknown_in_all
            ),
        ];
        let lists = [
            ("unknown because", &self.unknown),
            ("classes", &self.classes),
            ("cases", &self.cases),
            ("left alone", &self.left),
        ];
        out.extend(lists.iter().filter(|(_, m)| !m.is_empty()).map(|(name, m)| format!("{name}: {}", list(m))));
        out.extend(self.stops.iter().map(|s| format!("stopped: {s}")));
        out.join("\n")
    }
}
