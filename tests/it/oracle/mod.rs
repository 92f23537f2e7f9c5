//! The ledger a second time: slow, obvious, and in another shape than the SQL.
//!
//! Written from ARCHITECTURE (the ledger's rules), never from the statements: it asks of every millisecond of every
//! card whose it was and what is known of it, and adds up. Only the rounding of whole cells is arithmetic.

mod account;
mod bill;
mod card;
mod found;
mod holding;
mod index;
mod money;
mod node;
mod price;
mod quota;
mod share;
mod split;
mod stand_in;
mod tick;
mod who;

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::table::money::{DiscountRow, EnergyPriceRow, TermsRow};
use gpuledger_schema::table::reference::{
    InventoryRow, OwnerRow, PoolRow, QuotaRow, RateRow, TaskTypeRuleRow, TaskWeightRow, TierRow,
};
use gpuledger_schema::table::{
    AllocationDeviceRow, AllocationRow, DeviceClaimRow, DeviceMinuteRow, DeviceRow, JobAverageRow, JobRow,
    NodeStateRow, ProcessMinuteRow, ReadingRow,
};

pub(crate) use bill::{Key, LINES, Sum, bill, lines_seen};
pub(crate) use money::{Amount, charges, pieces};
pub(crate) use who::{Unit, Who};

/// Everything that was observed and is valid.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) device: Vec<DeviceRow>,
    pub(crate) device_minute: Vec<DeviceMinuteRow>,
    pub(crate) process_minute: Vec<ProcessMinuteRow>,
    pub(crate) job: Vec<JobRow>,
    pub(crate) allocation: Vec<AllocationRow>,
    pub(crate) allocation_device: Vec<AllocationDeviceRow>,
    pub(crate) device_claim: Vec<DeviceClaimRow>,
    pub(crate) job_average: Vec<JobAverageRow>,
    pub(crate) node_state: Vec<NodeStateRow>,
    pub(crate) reading: Vec<ReadingRow>,
    pub(crate) inventory: Vec<InventoryRow>,
    pub(crate) pool: Vec<PoolRow>,
    pub(crate) tier: Vec<TierRow>,
    pub(crate) rule: Vec<TaskTypeRuleRow>,
    pub(crate) weight: Vec<TaskWeightRow>,
    pub(crate) rate: Vec<RateRow>,
    pub(crate) owner: Vec<OwnerRow>,
    pub(crate) quota: Vec<QuotaRow>,
    pub(crate) terms: Vec<TermsRow>,
    pub(crate) discount: Vec<DiscountRow>,
    pub(crate) energy_price: Vec<EnergyPriceRow>,
}

/// A row of usage, as the oracle sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Line {
    pub(crate) unit: i64,
    pub(crate) cell: i64,
    pub(crate) holder: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) busy: i64,
    pub(crate) idle: i64,
    pub(crate) unmeasured: i64,
    pub(crate) unallocated: i64,
    pub(crate) unavailable: i64,
    pub(crate) unobserved: i64,
    pub(crate) covered: i64,
    pub(crate) effective: Option<i64>,
    pub(crate) zero: i64,
    pub(crate) over_share: i64,
    pub(crate) conflict: i64,
    pub(crate) estimated: i64,
    pub(crate) foreign: i64,
    pub(crate) mem_peak: Option<i64>,
    pub(crate) energy: Option<i64>,
    pub(crate) basis: Option<String>,
    pub(crate) capacity_unknown: bool,
    pub(crate) stranded: Option<i64>,
}

/// Ways in which holdings meet devices, of which a set of worlds should have each.
pub(crate) const WAYS: [&str; 5] = ["a record", "a claim", "an index", "processes", "a count before its node is known"];

/// The whole ledger.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// In which ways holdings met devices.
    pub(crate) told: BTreeSet<&'static str>,
    pub(crate) lines: Vec<Line>,
    pub(crate) who: BTreeMap<i64, Who>,
    pub(crate) units: BTreeMap<i64, Unit>,
}

/// The as-of of each cluster: nothing exists after it.
fn as_of(facts: &Facts) -> BTreeMap<String, i64> {
    let mut newest = BTreeMap::new();
    for r in facts.reading.iter().filter(|r| r.ok) {
        let at = newest.entry(r.cluster.clone()).or_insert(r.to_ms);
        *at = r.to_ms.max(*at);
    }
    newest
}

/// Usage, and who and what stands in it.
pub(crate) fn ledger(facts: &Facts) -> Ledger {
    let as_of = as_of(facts);
    let runs = holding::runs(facts);
    let versions = tick::versions(facts, &as_of);
    let states = node::states(facts, &as_of);
    let told = holding::holdings(facts, &runs, &as_of, &versions);
    let devices: BTreeSet<i64> = versions.iter().map(|v| v.device).collect();
    let ticks: BTreeMap<i64, Vec<tick::Tick>> =
        devices.iter().map(|d| (*d, tick::ticks(facts, *d, &versions, &runs))).collect();
    let mut ways = told.ways.clone();
    let recorded = told.named.len();
    let holdings = found::holdings(facts, told, &ticks, &versions);
    ways.extend((holdings.named.len() > recorded).then_some("processes"));
    let mut cards = Vec::new();
    for device in devices {
        cards.extend(card::cells(facts, device, &versions, &ticks[&device], &holdings, &states));
    }
    let stands = stand_in::stand_ins(facts, &as_of, &versions, &holdings, &cards, &states);
    ways.extend(stands.unseen.then_some("a count before its node is known"));
    let mut lines = account::lines(&cards, &stands.replaced);
    lines.extend(stands.lines);
    account::averages(facts, &mut lines);
    lines.sort();
    let who = who::who(facts, &runs, &versions, &lines);
    let units = who::units(&versions, &stands.units);
    Ledger { told: ways, lines, who, units }
}
