//! Upkeep over seeded worlds: the ledger is the same before and after, also once minutes are gone and rules ask for all days.

use std::collections::BTreeMap;

use gpuledger_aggregator::close::{self, Manifest};
use gpuledger_aggregator::keep::{KeepError, MaintainAsk, backup, maintain, restore};
use gpuledger_aggregator::lake::{Build, Cut, Lake};
use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::table::{self, ChargeRow, Row, StatementLineRow};
use gpuledger_schema::unit::DAY_MS;

use super::close::{MONTHS, ask, closed, lake};
use super::drive::{self, Site};
use super::make::{self, World};
use super::rng::Rng;
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

/// Every file below a folder with its size.
fn files(folder: &std::path::Path) -> BTreeMap<std::path::PathBuf, u64> {
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.insert(path, entry.metadata().expect("its size").len());
        }
    }
    out
}

/// That everything is there which the documents of closes name: each data file with its bytes, each version with its files; and what
/// the newest cut and build name.
async fn all_named_is_there(lake: &Lake, after: &str) {
    let mut versions = Vec::new();
    for m in Manifest::all(lake).await.expect("readable") {
        for file in &m.files {
            let found = lake.digest(&file.path).await.expect("readable");
            let found = found.unwrap_or_else(|| panic!("{after}: {} of {} is gone", file.path, m.period));
            assert_eq!((found.size_bytes, &found.sha256), (file.size_bytes, &file.sha256), "{after}: {}", file.path);
        }
        versions.extend(m.tables.into_iter().chain(m.derived).chain(m.written));
    }
    let cut = lake.newest::<Cut>(path::CUTS).await.expect("readable").expect("a cut").1;
    let build = lake.newest::<Build>(path::BUILDS).await.expect("readable").map(|(_, b)| b.tables).unwrap_or_default();
    versions.extend(cut.tables.into_iter().chain(build));
    for (name, version) in versions {
        let of_closes = [ChargeRow::TABLE, StatementLineRow::TABLE].into_iter().find(|t| t.name == name);
        let spec = of_closes.or_else(|| table::find(&name)).expect("a table");
        for file in
            lake.files_at(&spec, version).await.unwrap_or_else(|e| panic!("{after}: {name} at {version}: {e:?}"))
        {
            let there = lake.size(&file.path).await.expect("readable");
            assert_eq!(there, Some(file.size_bytes), "{after}: {} of {name} at {version}", file.path);
        }
    }
}

/// Upkeep at once: what it may remove goes now.
async fn upkeep(site: &Site, now_ms: i64, removed: &mut u64) {
    let ask = MaintainAsk { now_ms, keep_cuts_ms: 0, dry_run: false };
    let before = (ledger_of(site, 2).await, files(site.folder.path()));
    let would = maintain(&site.lake, MaintainAsk { dry_run: true, ..ask }).await.expect("upkeep");
    assert_eq!(files(site.folder.path()), before.1, "saying what would be done does nothing: {would:?}");
    let did = maintain(&site.lake, ask).await.expect("upkeep");
    *removed += did.tables.iter().map(|t| t.files_removed).sum::<u64>();
    assert_eq!(ledger_of(site, 2).await, before.0, "{did:?}");
    all_named_is_there(&site.lake, &format!("{did:?}")).await;
}

async fn every_close_is_proved(lake: &Lake) {
    for month in MONTHS {
        let found = close::verify(lake, 2, month).await.unwrap_or_else(|e| panic!("{month}: {e:?}"));
        assert_eq!(found.differs, Vec::<String>::new(), "{month}: {found:#?}");
        let whole = found.holds.iter().any(|h| h.contains("derived again from what was observed"));
        assert!(whole, "{month} is derived from minutes, which are young: {found:#?}");
    }
}

/// Months are closed between upkeep, late data, data that comes twice and more upkeep: what documents name stays, byte by byte, in the
/// lake and in a copy of its copy, and every close is derived again from what it named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_upkeep_removes_nothing_that_a_close_names() {
    let (zone, at) = (chrono_tz::UTC, midnight(0).1);
    let worlds: Vec<World> = [760, 761].map(|s| make::world(s, at)).into();
    let mut rng = Rng::new(76);
    let mut pieces: Vec<_> = worlds.iter().flat_map(|w| drive::segments(&w.facts, &w.cluster, &mut rng, 9)).collect();
    rng.shuffle(&mut pieces);
    let third = pieces.len() / 3;
    let mut control = None;
    let site = lake(&mut control, 760, at, &worlds);
    site.publish(control.as_ref().expect("made")).await;
    let (mut now_ms, mut removed) = (at, 0);
    for (n, month) in MONTHS.into_iter().enumerate() {
        // a third in two ingests, so that there is something to put together; from the second on some of it comes again
        let new = &pieces[n * third..((n + 1) * third).min(pieces.len())];
        let (a, b) = new.split_at(new.len() / 2);
        site.take_in(a).await;
        site.build(2).await;
        site.take_in(b).await;
        site.take_in(&pieces[(n * third).saturating_sub(third / 2)..(n + 1) * third]).await;
        site.build(2).await;
        if n == 1 {
            upkeep(&site, now_ms, &mut removed).await;
        }
        let done = closed(&site, 2, ask(month, zone, n as u64)).await;
        now_ms = done.closed_ms + 20 * DAY_MS;
        upkeep(&site, now_ms, &mut removed).await;
    }
    site.take_in(&pieces).await;
    site.build(2).await;
    // what nobody names: a writer died before its commit
    let stray = site.folder.path().join("lake/tables/usage/day=20512/stray.parquet");
    std::fs::create_dir_all(stray.parent().expect("a folder")).expect("made");
    std::fs::write(&stray, b"half a file").expect("written");
    let young = MaintainAsk { now_ms, keep_cuts_ms: 7 * DAY_MS, dry_run: false };
    maintain(&site.lake, young).await.expect("upkeep");
    assert!(stray.exists(), "what is young may belong to a writer that still works");
    upkeep(&site, now_ms, &mut removed).await;
    assert!(!stray.exists());
    assert!(removed > 10, "{removed} files were removed: upkeep that removes nothing proves nothing");
    every_close_is_proved(&site.lake).await;

    let place = tempfile::tempdir().expect("a folder");
    let [copy, again] =
        ["copy", "again"].map(|n| Lake::open(place.path().join(n).to_str().expect("utf-8"), true).expect("a lake"));
    backup(&site.lake, &copy, || Ok::<_, KeepError>(None)).await.expect("copied");
    restore(&copy, &again).await.expect("restored");
    all_named_is_there(&again, "restored").await;
    every_close_is_proved(&again).await;
    // upkeep of what was restored leaves it whole too
    maintain(&again, MaintainAsk { now_ms, keep_cuts_ms: 0, dry_run: false }).await.expect("upkeep");
    all_named_is_there(&again, "upkeep of what was restored").await;
}
