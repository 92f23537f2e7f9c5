//! Seeded worlds: the SQL's ledger and its cost against the oracle's, to the millisecond and the millionth; and what
//! must not change them (the order of arrival, the number of ingests, builds and partitions).
//!
//! `GPULEDGER_WORLDS=200` runs so many seeds, `GPULEDGER_WORLDS=17..18` runs seed 17.

mod cards;
mod close;
pub(crate) mod drive;
mod keep;
mod live;
pub(crate) mod make;
mod reference;
pub(crate) mod rng;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use chrono_tz::Tz;
use gpuledger_schema::unit::CELL_MS;
use gpuledger_schema::window::{self, Window};

use crate::oracle::{self, Facts, Line};
use drive::Site;
use make::World;
use rng::Rng;

/// Local midnights worth a look: half and quarter hour offsets, the ends of the world, a leap day, days of 23, 23.5, 24.5 and
/// 25 hours.
const MIDNIGHTS: &[(&str, &str)] = &[
    ("UTC", "2026-03-01"),
    ("Asia/Kolkata", "2026-03-15"),
    ("Asia/Kathmandu", "2026-03-15"),
    ("Europe/Brussels", "2026-03-30"),
    ("Europe/Brussels", "2026-10-26"),
    ("Australia/Lord_Howe", "2026-04-06"),
    ("Pacific/Kiritimati", "2028-02-29"),
    ("Pacific/Pago_Pago", "2028-03-01"),
    ("Pacific/Chatham", "2026-04-05"),
];

/// Worlds that share a lake: they must not touch each other, and a build plans its statements once.
const SHARED: u64 = 4;

/// Seeds of a run where nothing is asked for.
const SEEDS: u64 = 36;

/// Seeds of this run.
fn seeds() -> Vec<u64> {
    let Ok(asked) = std::env::var("GPULEDGER_WORLDS") else { return (0..SEEDS).collect() };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("GPULEDGER_WORLDS={asked}: {e}"));
    match asked.split_once("..") {
        Some((from, to)) => (number(from)..number(to)).collect(),
        None => (0..number(&asked)).collect(),
    }
}

/// The local midnight of a group of seeds.
pub(crate) fn midnight(group: u64) -> (Tz, i64) {
    let (zone, date) = MIDNIGHTS[group as usize % MIDNIGHTS.len()];
    let zone = window::zone(zone).expect("a zone");
    (zone, window::instant(date, zone).expect("a date"))
}

/// A lake with some worlds and reference tables that change around a midnight; the worlds then know the tables too.
pub(crate) async fn settled(group: u64, worlds: &mut [World]) -> Site {
    let site = Site::new();
    let (_, at) = midnight(group);
    let control = reference::control(site.folder.path(), &mut Rng::new(group), at, worlds);
    site.take_in(&drive::plain(worlds)).await;
    site.publish(&control).await;
    for w in worlds {
        reference::known_to(&mut w.facts, &control);
    }
    site
}

/// Rows in which two ledgers differ: both where there are two, with only the fields that differ.
fn differences(sql: &[Line], oracle: &[Line]) -> Vec<String> {
    type Key = (i64, i64, i64, i64);
    let keyed = |lines: &[Line]| -> BTreeMap<Key, Vec<String>> {
        let mut out: BTreeMap<Key, Vec<String>> = BTreeMap::new();
        for l in lines {
            out.entry((l.unit, l.cell, l.from, l.holder)).or_default().push(format!("{l:?}"));
        }
        out
    };
    let (a, b) = (keyed(sql), keyed(oracle));
    let mut out = Vec::new();
    for key in a.keys().chain(b.keys().filter(|k| !a.contains_key(k))) {
        match (a.get(key).map(Vec::as_slice), b.get(key).map(Vec::as_slice)) {
            (Some(x), Some(y)) if x == y => {}
            (Some([x]), Some([y])) => {
                let fields = x.split(", ").zip(y.split(", ")).filter(|(x, y)| x != y);
                let shown: Vec<String> = fields.map(|(x, y)| format!("{x} (oracle {y})")).collect();
                out.push(format!("{key:?}: {}", shown.join("; ")));
            }
            (x, y) => out.push(format!("{key:?}: sql {x:?}\n    oracle {y:?}")),
        }
    }
    out
}

/// What the worlds were about: a comparison of worlds in which nothing happens proves nothing.
const MATTERS: &[(&str, fn(&Line) -> bool)] = &[
    ("busy", |l| l.busy > 0),
    ("held idle", |l| l.idle > 0),
    ("held unmeasured", |l| l.unmeasured > 0),
    ("unallocated", |l| l.unallocated > 0),
    ("unavailable", |l| l.holder == 0 && l.unavailable > 0),
    ("a failed card that is held", |l| l.holder > 0 && l.unavailable > 0),
    ("unobserved", |l| l.unobserved > 0),
    ("over share", |l| l.holder > 0 && l.over_share > 0),
    ("conflict on a card", |l| l.conflict > 0 && l.idle > 0),
    ("conflict of a stand-in", |l| l.conflict > 0 && l.unmeasured > 0 && l.energy.is_none()),
    ("a bridged hole", |l| l.estimated > 0),
    ("foreign use of a free card", |l| l.holder < 0 && l.busy > 0),
    ("foreign use of a held card", |l| l.foreign > 0),
    ("capacity unknown", |l| l.capacity_unknown),
    ("an average", |l| l.capacity_unknown && l.effective.is_some()),
    ("a measured stand-in", |l| l.basis.as_deref() == Some("gpu") && l.zero == 0 && l.effective == Some(l.busy)),
    ("a stranded part", |l| l.stranded.is_some_and(|s| s > 0)),
    ("all parts measured", |l| l.basis.as_deref() == Some("sm+dram+tensor")),
];

/// What two maps do not agree on, if anything.
fn differ<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &BTreeMap<K, V>,
    wanted: &BTreeMap<K, V>,
) -> Option<String> {
    let keys: BTreeSet<&K> = wanted.keys().chain(got.keys()).collect();
    let other: Vec<&K> = keys.into_iter().filter(|k| got.get(k) != wanted.get(k)).collect();
    let one = |k: &&K| format!("{k:?}\n  sql    {:?}\n  oracle {:?}", got.get(*k), wanted.get(*k));
    let shown: Vec<String> = other.iter().take(12).map(one).collect();
    (!other.is_empty()).then(|| format!("{what}: {} differ\n{}", other.len(), shown.join("\n")))
}

async fn compare(group: u64, seeds: &[u64], seen: &Mutex<BTreeSet<&'static str>>) -> Vec<String> {
    let (zone, at) = midnight(group);
    let mut worlds: Vec<World> = seeds.iter().map(|s| make::world(*s, at)).collect();
    let site = settled(group, &mut worlds).await;
    site.build(2).await;
    let reader = site.reader(2).await;
    let usage = drive::usage(reader.engine()).await;
    let mut cut = Rng::new(group + 1000);
    // one edge of the window cuts cells, the other rows
    let window = Window { from_ms: at - cut.range(1, 3 * CELL_MS), to_ms: at + cut.range(1, 3 * CELL_MS) };
    let cost = drive::cost(&reader, window, zone).await;
    let mut failures = Vec::new();
    let mut pieces = Vec::new();
    for w in &worlds {
        let ledger = oracle::ledger(&w.facts);
        let there = MATTERS.iter().filter(|(_, matters)| ledger.lines.iter().any(matters)).map(|(what, _)| *what);
        seen.lock().expect("a set").extend(there);
        seen.lock().expect("a set").extend(&ledger.told);
        let found = differences(usage.get(&w.cluster).map_or(&[], Vec::as_slice), &ledger.lines);
        if !found.is_empty() {
            let shown = found.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
            failures.push(format!("seed {}: {} rows of usage differ\n{shown}", w.seed, found.len()));
        }
        pieces.extend(oracle::pieces(&w.facts, &ledger, &w.cluster, window, zone));
    }
    if !failures.is_empty() {
        return failures;
    }
    // pools, quotas and what is shared out are of all worlds of a lake together
    let facts = &worlds[0].facts;
    let wanted = oracle::bill(facts, &mut pieces, window, zone);
    seen.lock().expect("a set").extend(oracle::lines_seen(&wanted));
    let got = drive::bill(&reader, window, zone).await;
    failures.extend(differ(&format!("bill of seeds {seeds:?}"), &got, &wanted));
    for w in &worlds {
        let wanted = oracle::charges(facts, pieces.iter().filter(|p| p.cluster == w.cluster), zone);
        let got = cost.get(&w.cluster).cloned().unwrap_or_default();
        failures.extend(differ(&format!("cost of seed {}", w.seed), &got, &wanted));
    }
    failures
}

#[test]
fn worlds_sql_and_oracle_agree_on_every_row_and_every_charge() {
    let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for seed in seeds() {
        groups.entry(seed / SHARED).or_default().push(seed);
    }
    let waiting = Mutex::new(groups.into_iter().collect::<Vec<_>>());
    let failures = Mutex::new(Vec::new());
    let seen = Mutex::new(BTreeSet::new());
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        loop {
            let Some((group, seeds)) = waiting.lock().expect("a list").pop() else { return };
            let found = runtime.block_on(compare(group, &seeds, &seen));
            failures.lock().expect("a list").extend(found);
        }
    };
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("a list");
    assert!(failures.is_empty(), "{} worlds differ\n{}", failures.len(), failures.join("\n\n"));
    if seeds().len() as u64 >= SEEDS {
        let missing: Vec<&str> = MATTERS
            .iter()
            .map(|m| m.0)
            .chain(oracle::WAYS)
            .chain(oracle::LINES)
            .filter(|m| !seen.lock().expect("a set").contains(m))
            .collect();
        assert!(missing.is_empty(), "no world had {missing:?}");
    }
}

/// Worlds without reference tables, for comparing lakes with lakes.
fn some(seeds: std::ops::Range<u64>) -> Vec<World> {
    seeds.map(|s| make::world(s, midnight(0).1)).collect()
}

async fn ledger_of(site: &Site, partitions: usize) -> Vec<String> {
    drive::usage_text(&site.engine(partitions).await).await
}

#[tokio::test]
async fn worlds_l6_however_rows_arrive_and_in_how_many_steps_the_ledger_is_the_same() {
    let worlds = some(500..502);
    let plain = Site::new();
    plain.take_in(&drive::plain(&worlds)).await;
    plain.build(2).await;
    let wanted = ledger_of(&plain, 2).await;
    let mut rng = Rng::new(6);
    let mut pieces: Vec<_> = worlds.iter().flat_map(|w| drive::segments(&w.facts, &w.cluster, &mut rng, 9)).collect();
    rng.shuffle(&mut pieces);
    // shuffled, split, in several ingests, a build in between, and then everything once more in two shapes
    let split = Site::new();
    for (i, part) in pieces.chunks(pieces.len() / 3 + 1).enumerate() {
        split.take_in(part).await;
        if i == 1 {
            split.build(2).await;
        }
    }
    split.take_in(&pieces).await;
    split.take_in(&drive::plain(&worlds)).await;
    split.build(2).await;
    assert_eq!(ledger_of(&split, 2).await, wanted);
}

#[tokio::test]
async fn worlds_m3_one_and_sixteen_partitions_give_the_same_rows() {
    let mut worlds = some(520..523);
    let mut texts = Vec::new();
    for partitions in [1, 16] {
        let site = settled(0, &mut worlds).await;
        site.build(partitions).await;
        let reader = site.reader(partitions).await;
        let (zone, at) = midnight(0);
        let window = Window { from_ms: at - 1_000_000, to_ms: at + 1_000_001 };
        let cost = drive::cost(&reader, window, zone).await;
        let bill = drive::bill(&reader, window, zone).await;
        texts.push((drive::usage_text(reader.engine()).await, format!("{cost:?}{bill:?}")));
    }
    assert!(texts[0] == texts[1], "1 and 16 partitions differ");
}

/// Whether a clock stood wrong for days before somebody set it: then a day's offset depends on the days around it.
fn set_late(w: &World) -> bool {
    let ticks = &w.facts.device_minute;
    let trusted = |boot: i64| ticks.iter().filter(move |t| t.boot_id == boot && t.synchronised).map(|t| t.day).min();
    ticks.iter().any(|t| t.mono_ms > 0 && trusted(t.boot_id).is_some_and(|first| t.day + 2 <= first))
}

/// Takes worlds in day by day around an instant, builds after every `every`th day and after the last one, and compares with what is
/// built at once. Gives how many days were built in all.
async fn arrive(worlds: &[World], at: i64, every: i64) -> usize {
    let plain = Site::new();
    plain.take_in(&drive::plain(worlds)).await;
    plain.build(2).await;
    let wanted = ledger_of(&plain, 2).await;
    let steps = Site::new();
    let mut built = 0;
    for day in window::day_of(at) - 6..=window::day_of(at) + 5 {
        let mut arrived = Vec::new();
        for w in worlds {
            arrived.extend(drive::segments(&drive::of_day(&w.facts, day), &w.cluster, &mut Rng::new(0), 0));
        }
        steps.take_in(&arrived).await;
        if day % every == 0 || day == window::day_of(at) + 5 {
            built += steps.build(2).await;
        }
    }
    assert_eq!(ledger_of(&steps, 2).await, wanted);
    built
}

#[tokio::test]
async fn worlds_of_days_built_as_they_arrive_are_the_ones_built_at_once() {
    let (_, at) = midnight(0);
    let worlds: Vec<World> = (530..).map(|seed| make::scaled(seed, at, 100)).filter(set_late).take(2).collect();
    arrive(&worlds, at, 2).await;
}

#[tokio::test]
async fn worlds_without_bare_hosts_are_built_a_day_at_a_time_where_clocks_allow() {
    let (_, at) = midnight(0);
    let mut fewest = usize::MAX;
    for seed in 560..564 {
        let mut world = make::scaled(seed, at, 100);
        for device in &mut world.facts.device {
            "slurm".clone_into(&mut device.scheduler);
        }
        let facts = &mut world.facts;
        // minutes alone, and what they stand on: rows about runs touch days of their own
        if seed % 2 == 0 {
            facts.job.clear();
            facts.allocation.clear();
            facts.allocation_device.clear();
            facts.device_claim.clear();
            facts.job_average.clear();
        }
        let built = arrive(&[world], at, 1).await;
        println!("seed {seed}: {built} days built");
        fewest = fewest.min(built);
    }
    assert!(fewest < 12, "at least {fewest} days were built, of 12 that came one after another");
}

/// Task types weigh what was measured: a request that is read after its minutes were built decides the same as one that was there.
#[tokio::test]
async fn worlds_l6_requests_that_come_after_their_minutes_decide_the_same() {
    let (_, at) = midnight(0);
    let made = || (0..4).map(|seed| make::world(seed, at)).collect::<Vec<World>>();
    let whole = settled(0, &mut made()).await;
    whole.build(2).await;
    let (mut minutes, mut requests) = (made(), made());
    let late = Site::new();
    let control = reference::control(late.folder.path(), &mut Rng::new(0), at, &minutes);
    for (without, only) in minutes.iter_mut().zip(&mut requests) {
        without.facts.job.clear();
        only.facts = Facts { job: only.facts.job.clone(), ..Facts::default() };
    }
    late.take_in(&drive::plain(&minutes)).await;
    late.publish(&control).await;
    late.build(2).await;
    let before = ledger_of(&late, 2).await;
    late.take_in(&drive::plain(&requests)).await;
    late.build(2).await;
    let after = ledger_of(&late, 2).await;
    assert_ne!(before, after, "requests decide something");
    assert_eq!(after, ledger_of(&whole, 2).await);
}
