//! Good files: the examples, what a spreadsheet makes of them, host lists, and the rows that come out.

use gpuledger_control::ReferenceTable::{self, Inventory, Owners, Pools, Quotas, Rates, Rules, Tiers, Weights};
use gpuledger_schema::id::id63;
use gpuledger_schema::table::reference::{
    InventoryRow, OwnerRow, PoolRow, QuotaRow, RateRow, TaskTypeRuleRow, TaskWeightRow, TierRow,
};

use crate::{JANUARY, Ledger, MID_MARCH, example};

#[test]
fn every_example_is_imported_once_and_its_listing_again_changes_nothing() {
    for table in ReferenceTable::ALL {
        let mut ledger = Ledger::new();
        let first = ledger.import(table, example(table));
        assert!(first.added >= first.rows && first.rows > 0, "{table}: {first:?}");
        assert_eq!((first.unchanged, first.ended.len(), first.version), (0, 0, 1), "{table}");

        let listed = ledger.csv(table);
        for (what, again) in [("the file", example(table)), ("its listing", listed.clone().into_bytes())] {
            let report = ledger.import(table, again);
            assert_eq!((report.added, report.unchanged, report.version), (0, first.added, 1), "{table}: {what}");
        }
        assert_eq!(ledger.control.edits(table).unwrap().len(), first.added, "{table}");

        let mut copy = Ledger::new();
        let copied = copy.import(table, &listed);
        assert_eq!((copied.added, copy.csv(table)), (first.added, listed), "{table}");
    }
}

#[test]
fn rates_are_stored_exactly_and_read_back_typed() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, example(Rates));
    let rows: Vec<RateRow> = ledger.control.rows().unwrap();
    let h200: Vec<_> = rows.iter().filter(|r| r.model.is_some()).collect();
    assert_eq!(
        h200.iter().map(|r| (r.price_micros, r.from_ms, r.to_ms)).collect::<Vec<_>>(),
        [(10_000_000, JANUARY, Some(MID_MARCH)), (12_000_000, MID_MARCH, None)]
    );
    let key = ["", "", "", "NVIDIA H200", "", &MID_MARCH.to_string(), "12000000", "CNY"];
    assert_eq!(h200[1].rate_id, id63("rate", &key));
    assert_eq!(
        ledger.listed(Rates),
        [
            ",,,,large,8.5,CNY,2026-01-01T00:00:00+08:00,",
            ",,,,small,2.25,CNY,2026-01-01T00:00:00+08:00,",
            ",,,NVIDIA H200,,10,CNY,2026-01-01T00:00:00+08:00,2026-03-15T00:00:00+08:00",
            ",,,NVIDIA H200,,12,CNY,2026-03-15T00:00:00+08:00,",
            ",debug,,,,0,CNY,2026-01-01T00:00:00+08:00,",
            "vision,,research,,,9.999999,CNY,2026-01-01T00:00:00+08:00,2027-01-01T00:00:00+08:00",
        ]
    );
}

#[test]
fn a_host_list_is_one_row_per_node() {
    let mut ledger = Ledger::new();
    let report = ledger.import(Inventory, "cluster,node,model,gpus,memory_gib\nhpc,\"gpu[08-10,12]\",H200,8,80.0\n");
    assert_eq!((report.rows, report.added), (1, 4));
    let rows: Vec<InventoryRow> = ledger.control.rows().unwrap();
    let nodes: Vec<_> = rows.iter().map(|r| r.node.as_deref().unwrap()).collect();
    assert_eq!(nodes, ["gpu08", "gpu09", "gpu10", "gpu12"]);
    assert_eq!(
        rows[0],
        InventoryRow {
            cluster: "hpc".into(),
            node: Some("gpu08".into()),
            model: "H200".into(),
            gpus: 8,
            memory_bytes: Some(80 << 30),
            queue: None,
            interconnect: None,
            declared_up: false,
            from_ms: 0,
            to_ms: None,
        }
    );
    // A node that leaves: the same row with an end.
    let report = ledger.import(Inventory, "cluster,node,model,gpus,memory_gib,to\nhpc,gpu12,H200,8,80,2026-03-15\n");
    assert_eq!(
        report.ended,
        ["cluster=hpc node=gpu12 model=H200 gpus=8 memory_gib=80 declared_up=false from the beginning \
             to 2026-03-15T00:00:00+08:00"]
    );
    assert_eq!((report.added, report.version), (0, 2));
}

#[test]
fn patterns_are_kept_as_typed_and_anchored() {
    let mut ledger = Ledger::new();
    ledger.import(Pools, "pool,node_pattern\nresearch,gpu0?.x*\n");
    let pools: Vec<PoolRow> = ledger.control.rows().unwrap();
    assert_eq!(pools[0].node_pattern.as_deref(), Some("gpu0?.x*"));
    assert_eq!(pools[0].node_regex.as_deref(), Some("^gpu0.\\.x.*$"));
    ledger.import(Tiers, "tier,model_pattern\nlarge,*H200*\n");
    let tiers: Vec<TierRow> = ledger.control.rows().unwrap();
    assert_eq!(tiers[0].model_regex.as_deref(), Some("^.*H200.*$"));
    ledger.import(Rules, "position,task_type,name_pattern\n2,train,\n1,eval,*-eval\n");
    let rules: Vec<TaskTypeRuleRow> = ledger.control.rows().unwrap();
    assert_eq!(rules.iter().map(|r| r.position).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(rules[0].name_regex.as_deref(), Some("^.*\\-eval$"));
    assert_eq!(rules[1].name_regex, None);
}

#[test]
fn weights_are_published_with_the_built_in_ones_but_listed_without() {
    let mut ledger = Ledger::new();
    assert_eq!(ledger.control.rows::<TaskWeightRow>().unwrap().len(), 8);
    ledger.import(Weights, "task_type,sm,dram,tensor,from\ninfer,25,60,0.5,2026-03-15\n");
    let rows: Vec<TaskWeightRow> = ledger.control.rows().unwrap();
    let infer: Vec<_> =
        rows.iter().filter(|r| r.task_type == "infer").map(|r| (r.sm_ppm, r.tensor_ppm, r.to_ms)).collect();
    assert_eq!(infer, [(300_000, 200_000, Some(MID_MARCH)), (250_000, 5_000, None)]);
    assert_eq!(ledger.listed(Weights), ["infer,25,60,0.5,2026-03-15T00:00:00+08:00,"]);
}

#[test]
fn owners_and_quotas_read_back_typed() {
    let mut ledger = Ledger::new();
    ledger.import(Owners, "kind,value,team,share_percent\nnamespace,shop,{value},33.33\naccount,shop,web,66.67\n");
    let owners: Vec<OwnerRow> = ledger.control.rows().unwrap();
    let parts: Vec<_> = owners.iter().map(|r| (r.kind.as_str(), r.team.as_str(), r.parts)).collect();
    assert_eq!(parts, [("account", "web", 6_667), ("account", "{value}", 3_333)]);
    ledger.import(Quotas, "team,pool,gpus,share_percent\na,p,0,\nb,p,,12.5\n");
    let quotas: Vec<QuotaRow> = ledger.control.rows().unwrap();
    let held: Vec<_> = quotas.iter().map(|r| (r.gpus, r.pool_share_ppm)).collect();
    assert_eq!(held, [(Some(0), None), (None, Some(125_000))]);
}

#[test]
fn what_a_spreadsheet_adds_is_accepted() {
    let mut ledger = Ledger::new();
    let csv = "\u{feff}# prices\r\n\r\n from , price ,team\r\n2026-01-01, 10 ,\" vision \"\r\n,,\r\n# end\r\n";
    assert_eq!(ledger.import(Rates, csv).added, 1);
    assert_eq!(ledger.listed(Rates), ["vision,,,,,10,CNY,2026-01-01T00:00:00+08:00,"]);
    assert_eq!(ledger.import(Rates, "price\n").rows, 0);
    // A name that looks like a comment is quoted in a listing, and so reads back.
    ledger.import(Rates, "team,price\n\"#1, \"\"best\"\"\",11\n");
    let listed = ledger.csv(Rates);
    assert_eq!(ledger.import(Rates, listed).unchanged, 2);
}
