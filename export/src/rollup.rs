//! Bills of several months as one, and the tree of cost centres: sums of minor units, so that parts make wholes to the cent.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::bill::{Bill, Conservation, CostCenter, State};
use gpuledger_schema::table::StatementLineRow;

use crate::error::ExportError;
use crate::sums::Sums;

/// A node of the tree, in the order in which a reader goes down: parents before their children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Code; absent: lines that no cost centre bears.
    pub(crate) code: Option<String>,
    /// Name for people, where one is known.
    pub(crate) name: Option<String>,
    /// Code of the one above.
    pub(crate) parent: Option<String>,
    /// Nodes above it.
    pub(crate) depth: usize,
    /// Its own lines.
    pub(crate) own: Sums,
    /// Its own lines and those of all below it.
    pub(crate) total: Sums,
}

/// The tree of cost centres over what teams pay. The totals of the nodes at the top add up to the bill. Codes that lines name
/// and nobody described stand at the top; so does one whose way up leads back to itself.
pub(crate) fn tree(bill: &Bill) -> Vec<Node> {
    let own = crate::sums::by(bill.lines.iter().filter(|l| !l.platform), |l| l.cost_center.as_deref());
    let known: BTreeMap<&str, &CostCenter> = bill.cost_centers.iter().map(|c| (c.code.as_str(), c)).collect();
    let codes: BTreeSet<&str> = known.keys().copied().chain(own.keys().copied().flatten()).collect();
    let mut children: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for code in &codes {
        children.entry(parent(code, &known)).or_default().push(code);
    }
    let mut out = Vec::new();
    let mut forest = Forest { known: &known, children: &children, own: &own, out: &mut out };
    for top in children.get(&None).into_iter().flatten() {
        forest.grow(top, None, 0);
    }
    if let Some(sums) = own.get(&None) {
        out.push(Node { code: None, name: None, parent: None, depth: 0, own: *sums, total: *sums });
    }
    // a part of the organisation that has nothing to pay is no line of a bill
    out.retain(|n| n.total.lines > 0);
    out
}

/// The code above, where it is known and the way up from it ends.
fn parent<'a>(code: &str, known: &BTreeMap<&'a str, &'a CostCenter>) -> Option<&'a str> {
    let above = |c: &str| known.get(c).and_then(|n| n.parent.as_deref()).filter(|p| known.contains_key(p));
    let first = above(code)?;
    let mut seen = BTreeSet::from([code]);
    let mut at = Some(first);
    while let Some(c) = at {
        if !seen.insert(c) {
            // a circle is cut above its first code, so that every code is reached exactly once
            let circle = circle(c, &above);
            let cut = circle.contains(code) && circle.first() == Some(&code);
            return (!cut).then_some(first);
        }
        at = above(c);
    }
    Some(first)
}

fn circle<'a>(from: &'a str, above: &dyn Fn(&str) -> Option<&'a str>) -> BTreeSet<&'a str> {
    let mut out = BTreeSet::new();
    let mut at = Some(from);
    while let Some(c) = at.filter(|c| out.insert(*c)) {
        at = above(c);
    }
    out
}

struct Forest<'a, 'b> {
    known: &'b BTreeMap<&'a str, &'a CostCenter>,
    children: &'b BTreeMap<Option<&'a str>, Vec<&'a str>>,
    own: &'b BTreeMap<Option<&'a str>, Sums>,
    out: &'b mut Vec<Node>,
}

impl Forest<'_, '_> {
    /// Writes a node and all below it, and gives the sums of them.
    fn grow(&mut self, code: &str, parent: Option<&str>, depth: usize) -> Sums {
        let own = self.own.get(&Some(code)).copied().unwrap_or_default();
        let at = self.out.len();
        self.out.push(Node {
            code: Some(code.to_owned()),
            name: self.known.get(code).map(|c| c.name.clone()),
            parent: parent.map(str::to_owned),
            depth,
            own,
            total: own,
        });
        let children = self.children;
        let mut total = own;
        for child in children.get(&Some(code)).into_iter().flatten() {
            total.plus(&self.grow(child, Some(code), depth + 1));
        }
        self.out[at].total = total;
        total
    }
}

/// Bills of periods that follow one another as one bill called `name`, e.g. `2026-Q4` or `2026 to date`. Lines keep their
/// period. It is closed when all of them are; its time is the latest, its hash names all of theirs.
///
/// # Errors
/// Where there are none, where they differ in issuer, zone or currency, and where one does not follow the other.
pub fn several(name: &str, bills: &[Bill]) -> Result<Bill, ExportError> {
    let mut sorted: Vec<&Bill> = bills.iter().collect();
    sorted.sort_by_key(|b| b.from_ms);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Err(ExportError::NoBill) };
    for pair in sorted.windows(2) {
        if let Some(why) = apart(pair[0], pair[1]) {
            return Err(ExportError::Apart { first: pair[0].period.clone(), second: pair[1].period.clone(), why });
        }
    }
    let mut lines: Vec<StatementLineRow> = sorted.iter().flat_map(|b| b.lines.iter().cloned()).collect();
    lines.sort_by(|a, b| order(a).cmp(&order(b)));
    let mut cost_centers: BTreeMap<&str, &CostCenter> = BTreeMap::new();
    for center in sorted.iter().flat_map(|b| &b.cost_centers) {
        cost_centers.insert(&center.code, center);
    }
    Ok(Bill {
        issuer: first.issuer.clone(),
        period: name.to_owned(),
        from_ms: first.from_ms,
        to_ms: last.to_ms,
        zone: first.zone.clone(),
        currency: first.currency.clone(),
        digits: first.digits,
        state: state(&sorted),
        lines,
        conservation: sorted.iter().fold(Conservation::default(), |sum, b| plus(&sum, &b.conservation)),
        cost_centers: cost_centers.into_values().cloned().collect(),
        notes: sorted.iter().flat_map(|b| b.notes.iter().map(|n| format!("{}: {n}", b.period))).collect(),
    })
}

/// Why one bill does not follow another.
fn apart(a: &Bill, b: &Bill) -> Option<&'static str> {
    let checks = [
        (a.to_ms != b.from_ms, "one does not begin where the other ends"),
        (a.currency != b.currency || a.digits != b.digits, "they are in different currencies"),
        (a.zone != b.zone, "they are cut in different zones"),
        (a.issuer != b.issuer, "they have different issuers"),
    ];
    checks.into_iter().find(|(wrong, _)| *wrong).map(|(_, why)| why)
}

/// The order of `Bill::lines`, and within it by period.
fn order(line: &StatementLineRow) -> impl Ord + '_ {
    let kind = line.kind.parse::<gpuledger_schema::bill::LineKind>().ok();
    let who = (line.platform, &line.team, &line.cost_center);
    (who, kind, (&line.pool, &line.model, &line.task_type), line.line_id, &line.period)
}

fn state(bills: &[&Bill]) -> State {
    let mut ids = Vec::new();
    let mut hashes = Vec::new();
    let mut latest = i64::MIN;
    for bill in bills {
        match &bill.state {
            State::Closed { close_id, closed_ms, output_sha256 } => {
                ids.push(close_id.as_str());
                hashes.push(output_sha256.as_str());
                latest = latest.max(*closed_ms);
            }
            State::Draft { cut, as_of_ms } => return State::Draft { cut: *cut, as_of_ms: *as_of_ms },
        }
    }
    State::Closed { close_id: ids.join(" "), closed_ms: latest, output_sha256: hashes.join(" ") }
}

fn plus(a: &Conservation, b: &Conservation) -> Conservation {
    Conservation {
        busy_ms: a.busy_ms + b.busy_ms,
        held_idle_ms: a.held_idle_ms + b.held_idle_ms,
        held_unmeasured_ms: a.held_unmeasured_ms + b.held_unmeasured_ms,
        unallocated_ms: a.unallocated_ms + b.unallocated_ms,
        unavailable_ms: a.unavailable_ms + b.unavailable_ms,
        unobserved_ms: a.unobserved_ms + b.unobserved_ms,
        unpriced_ms: a.unpriced_ms + b.unpriced_ms,
        billed_minor: a.billed_minor + b.billed_minor,
        unbilled_held_minor: a.unbilled_held_minor + b.unbilled_held_minor,
        to_settle_minor: a.to_settle_minor + b.to_settle_minor,
        unallocated_minor: a.unallocated_minor + b.unallocated_minor,
        unavailable_minor: a.unavailable_minor + b.unavailable_minor,
        unobserved_minor: a.unobserved_minor + b.unobserved_minor,
        shared_out_minor: a.shared_out_minor + b.shared_out_minor,
        fleet_minor: a.fleet_minor + b.fleet_minor,
    }
}
