//! Owners, prices, pools, tiers, rules and weights that change in the middle of what is compared.

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
        // none of these changes the ledger or a charge
        ReferenceTable::Quotas
        | ReferenceTable::Thresholds
        | ReferenceTable::Specs
        | ReferenceTable::FindingNotes
        | ReferenceTable::Contacts => Vec::new(),
    };
    if lines.is_empty() {
        return String::new();
    }
    format!("{}\n{}\n", table.header().join(","), lines.join("\n"))
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

/// A control file with the tables of some worlds around a midnight.
pub(super) fn control(at: &Path, rng: &mut Rng, midnight: i64, worlds: &[World]) -> Control {
    let mut control = Control::open(&at.join("control.sqlite")).expect("a control file");
    for table in ReferenceTable::ALL {
        let text = csv(table, rng, midnight, worlds);
        if text.is_empty() {
            continue;
        }
        let options = ImportOptions { zone: None, currency: None, now_ms: 1, actor: "test".to_owned() };
        let file = format!("{table}.csv");
        control.import(table, &file, text.as_bytes(), options).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    }
    control
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
}
