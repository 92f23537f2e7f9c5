//! Upkeep over seeded worlds: the ledger is the same before and after, also once minutes are gone and rules ask for all days.

use std::collections::BTreeMap;

use gpuledger_aggregator::close::Manifest;
use gpuledger_aggregator::keep::{KeepError, MaintainAsk, backup, maintain, restore};
use gpuledger_aggregator::lake::{Build, Cut, Lake};
use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::unit::DAY_MS;

use super::drive::{self, Site};
use super::{ledger_of, midnight, settled, some};

async fn count(site: &Site, table: &str) -> String {
    let engine = site.engine(2).await;
    drive::rows(&engine, &format!("SELECT count(*) FROM {table}")).await[0][0].clone().unwrap()
}

/// A period that was closed long ago and ends long after everything that the worlds are about.
async fn closed_long_ago(site: &Site, at: i64) -> Manifest {
    let (number, cut) = site.lake.newest::<Cut>(path::CUTS).await.unwrap().unwrap();
    let build = site.lake.newest::<Build>(path::BUILDS).await.unwrap().unwrap().1;
    let manifest = Manifest {
        close_id: "c".into(),
        period: "2026-01".into(),
        from_ms: at - 40 * DAY_MS,
        to_ms: at + 80 * DAY_MS,
        zone: "UTC".into(),
        currency: "EUR".into(),
        issuer: "i".into(),
        closed_ms: at + 90 * DAY_MS,
        closed_by: "t".into(),
        program: "t".into(),
        cut: number.0,
        tables: cut.tables,
        derived: build.tables,
        written: BTreeMap::new(),
        days: build.days,
        ledger_rules: build.rules,
        rules: BTreeMap::new(),
        rules_sha256: String::new(),
        earlier: Vec::new(),
        corrects: Vec::new(),
        waived: Vec::new(),
        audit_head: None,
        files: Vec::new(),
        lines: 0,
        charges: 0,
        output_sha256: String::new(),
        billed_minor: 0,
        corrections_minor: 0,
        conservation: Default::default(),
        cost_centers: Vec::new(),
        notes: Vec::new(),
    };
    assert!(site.lake.create_document(&path::close("2026-01"), &manifest).await.unwrap());
    manifest
}

#[tokio::test]
async fn upkeep_changes_no_row_of_the_ledger_also_when_minutes_go() {
    let at = midnight(0).1;
    let mut worlds = some(540..542);
    let site = settled(0, &mut worlds).await;
    site.build(2).await;
    let before = ledger_of(&site, 2).await;
    assert!(before.len() > 100, "{}", before.len());
    let minutes = count(&site, "device_minute").await;
    assert_ne!(minutes, "0");
    let now_ms = at + 1_000 * DAY_MS;
    let ask = MaintainAsk { now_ms, keep_cuts_ms: 0, dry_run: false };

    // nothing is closed: minutes stay
    let report = maintain(&site.lake, ask).await.unwrap();
    assert_eq!(report.minutes_from, None);
    assert_eq!((ledger_of(&site, 2).await, count(&site, "device_minute").await), (before.clone(), minutes));

    // a copy of it is the same ledger, and a place with data takes none
    let place = tempfile::tempdir().unwrap();
    let [copy, again] = ["copy", "again"].map(|n| Lake::open(place.path().join(n).to_str().unwrap(), true).unwrap());
    backup(&site.lake, &copy, || Ok::<_, KeepError>(Some(b"control".to_vec()))).await.unwrap();
    let (_, control) = restore(&copy, &again).await.unwrap();
    assert_eq!(control.as_deref(), Some(b"control".as_slice()));
    let restored = Site { folder: tempfile::tempdir().unwrap(), lake: again.clone() };
    assert_eq!(ledger_of(&restored, 2).await, before);
    assert!(restore(&copy, &again).await.unwrap_err().to_string().contains("has data"));

    // a close that is old enough lets them go, cells stay; a second upkeep finds nothing to do
    closed_long_ago(&site, at).await;
    let report = maintain(&site.lake, ask).await.unwrap();
    assert!(report.minutes_from.is_some() && report.cut.is_some(), "{report:?}");
    assert_eq!(count(&site, "device_minute").await, "0");
    assert_eq!(ledger_of(&site, 2).await, before);
    let report = maintain(&site.lake, ask).await.unwrap();
    assert_eq!((report.cut, report.tables), (None, Vec::new()));

    // a cut that asks for every day anew leaves what has no minutes any more
    let (number, mut cut) = site.lake.newest::<Cut>(path::CUTS).await.unwrap().unwrap();
    cut.touched_from = Some(i32::MIN);
    let next = Numbered(number.0 + 1).file_name();
    site.lake.create_document(&format!("{}/{next}", path::CUTS), &cut).await.unwrap();
    site.build(2).await;
    assert_eq!(ledger_of(&site, 2).await, before);
}
