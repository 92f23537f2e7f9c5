//! Owners, prices, pools, tiers, rules, weights, terms, quotas and discounts that change in the middle of what is compared.

use std::path::Path;

use chrono::DateTime;
use gpuledger_control::{Control, ImportOptions, ReferenceTable};

use super::make::{MINUTE, World};
use super::rng::Rng;
use crate::oracle::Facts;

/// An instant as reference files write it.
pub(super) fn iso(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms).expect("an instant").format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The CSV of a table.
fn csv(table: ReferenceTable, rng: &mut Rng, midnight: i64, worlds: &[World]) -> String {
    let mut edge = || iso(midnight + rng.range(-15 * MINUTE, 15 * MINUTE));
    let begin = iso(midnight - 86_400_000);
    let (a, b, c) = (edge(), edge(), edge());
    let lines: Vec<String> = match table {
        ReferenceTable::Inventory => worlds.iter().flat_map(|w| w.inventory.clone()).collect(),
        ReferenceTable::Owners => owners(&begin, &a, &b, worlds),
        ReferenceTable::Rates => vec![
            format!(",,,H200,,10,CNY,{begin},{a}"),
            format!(",,,H200,,12.345678,CNY,{a},"),
            format!(",,,A100,,3.333333,CNY,{begin},{b}"),
            format!(",,pool-a,,,7,CNY,{begin},"),
            format!("speech,,,H200,,9.5,CNY,{begin},{c}"),
            format!("speech,train,,,,1.000001,CNY,{begin},"),
            format!(",infer,,,,0,CNY,{c},"),
            format!(",,,,big,20,CNY,{b},"),
        ],
        ReferenceTable::Pools => vec![
            format!("pool-a,,n1,,,{begin},{c}"),
            format!("pool-b,,n?,infer,,{begin},"),
            format!("pool-c,,,,B300,{a},"),
        ],
        ReferenceTable::Tiers => {
            vec![format!("big,*200,,,,{a},"), format!("small,A*,70,90,,{begin},{b}"), format!("mid,A100,,,,{b},")]
        }
        ReferenceTable::Rules => vec![
            format!("10,,infer,,,,,,infer,{begin},"),
            format!("20,,,,,project=x,,,finetune,{begin},{a}"),
            format!("30,,,,physics,,,train*,train,{begin},"),
            format!("40,,,,,,,eval-?,eval,{b},"),
        ],
        ReferenceTable::Weights => {
            vec![format!("train,25,60,15,{a},"), format!("unknown,100,50,0,{b},{}", iso(midnight + 40 * MINUTE))]
        }
        ReferenceTable::Terms => terms(rng, &begin, &a),
        ReferenceTable::Quotas => vec![
            format!("speech,pool-a,1,,{begin},{b}"),
            format!("speech,pool-a,0,,{b},"),
            format!("physics,default,1,,{begin},"),
            format!("vision,default,,37.5,{begin},{c}"),
            format!("bobs,default,2,,{a},"),
            format!("idle-team,default,1,,{begin},"),
            format!("speech,pool-b,1,,{begin},"),
            format!("bobs,pool-c,,10,{begin},"),
        ],
        ReferenceTable::Discounts => vec![
            format!("night,off_peak,,,,,,,22:00,00:15,61.03,{begin},"),
            format!("early,off_peak,,,,,,\"mon,thu,sat\",00:15,06:45,70,{begin},{c}"),
            format!("train at night,off_peak,,train,,,,mon-sun,23:30,00:30,33.33,{a},"),
            format!("borrowed,borrowed,,,,,,,,,75.55,{begin},{b}"),
            format!("borrowed a,borrowed,,,pool-a,,,,,,50,{begin},"),
            format!("may stop,preemptible,,,,,,,,,50.01,{c},"),
            format!("partner,discount,speech,,,,,,,,92.5,{begin},"),
            format!("scarce,discount,,,,H200,,,,,133.37,{b},"),
        ],
        ReferenceTable::EnergyPrices => vec![format!(",0.62,CNY,{begin},"), format!("pool-a,0.845,CNY,{c},")],
        // none of these changes the ledger or a charge
        _ => Vec::new(),
    };
    if lines.is_empty() {
        return String::new();
    }
    format!("{}\n{}\n", table.header().join(","), lines.join("\n"))
}

/// Every mode and way of sharing out, each pool with two of them, one after the other.
fn terms(rng: &mut Rng, begin: &str, edge: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for pool in ["pool-a", "pool-b", "pool-c", "default"] {
        for times in [format!("{begin},{edge}"), format!("{edge},")] {
            let mode = rng.pick(&["held", "busy", "quota", "quota", "showback"]);
            let share = [0; 3].map(|_| rng.pick(&["", "none", "even", "held", "quota"])).join(",");
            lines.push(format!("{pool},{mode},{share},{times}"));
        }
    }
    lines
}

fn owners(begin: &str, a: &str, b: &str, worlds: &[World]) -> Vec<String> {
    let (first, second) = if a < b { (a, b) } else { (b, a) };
    let mut lines = vec![
        format!("label,,project=x,vision,CC-1,33.33,{begin},{first}"),
        format!("label,,project=x,speech,CC-2,66.67,{begin},{first}"),
        format!("label,,project=x,vision,,10,{first},"),
        format!("label,,project=x,vision,CC-1,45,{first},"),
        format!("label,,project=x,speech,CC-2,45,{first},"),
        format!("account,,physics,speech,CC-2,50,{begin},{second}"),
        format!("account,,physics,physics,CC-3,50,{begin},{second}"),
        format!("account,,*,team-{{value}},,,{first},"),
        format!("user,,bob,bobs,,,{begin},"),
        format!("user,,*,{{value}},,,{second},"),
    ];
    if let Some(w) = worlds.first() {
        lines.push(format!("account,{},bio,bio-local,,,{begin},", w.cluster));
        lines.push(format!("account,{},foreign,finders,,,{begin},{second}", w.cluster));
    }
    lines
}

/// A control file with the tables of some worlds around a midnight. Its pools may have a device in common (L7 says which).
pub(super) fn control(at: &Path, rng: &mut Rng, midnight: i64, worlds: &[World]) -> Control {
    control_of(at, rng, midnight, worlds, usize::MAX)
}

/// The same with one pool, because what violates L7 cannot be closed.
pub(super) fn control_to_close(at: &Path, rng: &mut Rng, midnight: i64, worlds: &[World]) -> Control {
    control_of(at, rng, midnight, worlds, 1)
}

fn control_of(at: &Path, rng: &mut Rng, midnight: i64, worlds: &[World], pools: usize) -> Control {
    let mut control = Control::open(&at.join("control.sqlite")).expect("a control file");
    for table in ReferenceTable::ALL {
        let mut text = csv(table, rng, midnight, worlds);
        if table == ReferenceTable::Pools {
            text = text.lines().take(pools.saturating_add(1)).map(|l| format!("{l}\n")).collect();
        }
        if text.is_empty() {
            continue;
        }
        let options = ImportOptions { now_ms: 1, actor: "test".to_owned(), ..ImportOptions::default() };
        let file = format!("{table}.csv");
        control.import(table, &file, text.as_bytes(), options).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    }
    control
}

/// Rows that become known, by force where their time is taken.
pub(super) fn known(control: &mut Control, table: ReferenceTable, lines: &[String]) {
    let text = format!("{}\n{}\n", table.header().join(","), lines.join("\n"));
    let options = ImportOptions {
        now_ms: 2,
        actor: "test".to_owned(),
        force: true,
        reason: Some("found later".to_owned()),
        approver: Some("test".to_owned()),
        ..ImportOptions::default()
    };
    control.import(table, "later.csv", text.as_bytes(), options).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
}

/// A price and an owner on both sides of a midnight that become known after it was billed.
pub(super) fn known_later(control: &mut Control, midnight: i64) {
    let (from, to) = (iso(midnight - 25 * MINUTE), iso(midnight + 20 * MINUTE + 1));
    known(control, ReferenceTable::Rates, &[format!(",,,H200,,11.111111,CNY,{from},{to}")]);
    known(control, ReferenceTable::Owners, &[format!("user,,bob,late,CC-9,,{from},{to}")]);
}

/// The rows that are valid, for the oracle.
pub(super) fn known_to(facts: &mut Facts, control: &Control) {
    facts.inventory = control.rows().expect("rows");
    facts.pool = control.rows().expect("rows");
    facts.tier = control.rows().expect("rows");
    facts.rule = control.rows().expect("rows");
    facts.weight = control.rows().expect("rows");
    facts.rate = control.rows().expect("rows");
    facts.owner = control.rows().expect("rows");
    facts.quota = control.rows().expect("rows");
    facts.terms = control.rows().expect("rows");
    facts.discount = control.rows().expect("rows");
    facts.energy_price = control.rows().expect("rows");
}
