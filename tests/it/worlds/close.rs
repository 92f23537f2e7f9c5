//! Months closed over seeded worlds whose data arrives late, doubled and shuffled: what was billed and corrected is what a lake that
//! knew everything from the start would bill; a close that dies or loses a race counts nowhere.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use gpuledger_aggregator::bill;
use gpuledger_aggregator::close::{self, CloseAsk, Closed, Manifest, Step, Waiver};
use gpuledger_aggregator::keep::{MaintainAsk, maintain};
use gpuledger_aggregator::report::{Currency, Reader};
use gpuledger_collector::segment::Segment;
use gpuledger_control::{Control, ReferenceTable};
use gpuledger_schema::table::StatementLineRow;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window;

use super::drive::{self, Site};
use super::make::{self, World};
use super::reference;
use super::rng::Rng;
use crate::oracle;

/// Zones whose first of March is a midnight worth a look: far ahead, far behind, half and quarter hours.
const ZONES: [&str; 5] = ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata", "Asia/Kathmandu"];

/// Exact money by period of use, and by who pays.
type Money = BTreeMap<(String, bool, String, Option<String>), i128>;

/// Months around the first of March.
pub(super) const MONTHS: [&str; 3] = ["2026-02", "2026-03", "2026-04"];

fn currency() -> Currency {
    "CNY".parse().expect("a currency")
}

/// What is asked for a close, some days after its period.
pub(super) fn ask(month: &str, zone: Tz, nonce: u64) -> CloseAsk {
    let period = close::period(month, zone, &currency()).expect("a month");
    CloseAsk {
        now_ms: period.window.to_ms + 10 * DAY_MS,
        period,
        grace_ms: 3 * DAY_MS,
        nonce,
        issuer: "tests".to_owned(),
        closed_by: "tests".to_owned(),
        program: "tests".to_owned(),
        audit_head: None,
        waivers: Vec::new(),
        answers: Vec::new(),
    }
}

async fn reader(site: &Site, partitions: usize) -> Reader {
    Reader::open(&site.lake, partitions, None).await.unwrap_or_else(|e| panic!("{e:?}"))
}

/// The same with everything waived that can be; nothing else may be on the list.
async fn waived(site: &Site, reader: &Reader, mut ask: CloseAsk) -> CloseAsk {
    let found = close::propose(&site.lake, reader, &ask).await.unwrap_or_else(|e| panic!("{e:?}"));
    for item in &found.items {
        assert!(item.waivable, "{item:#?}");
        let (reason, approver) = ("a test".to_owned(), "tests".to_owned());
        ask.waivers.push(Waiver { item: item.id.clone(), reason, approver, at_ms: ask.now_ms });
    }
    ask
}

pub(super) async fn closed(site: &Site, partitions: usize, ask: CloseAsk) -> Manifest {
    site.build(partitions).await;
    let reader = reader(site, partitions).await;
    let ask = waived(site, &reader, ask).await;
    match close::close(&site.lake, &reader, &ask, &mut |_| {}).await {
        Ok(Closed::Done(manifest)) => *manifest,
        other => panic!("{other:?}"),
    }
}

fn add(money: &mut Money, lines: &[StatementLineRow]) {
    for l in lines {
        let of = l.corrects.clone().unwrap_or_else(|| l.period.clone());
        *money.entry((of, l.platform, l.team.clone(), l.cost_center.clone())).or_default() += l.exact;
    }
    money.retain(|_, exact| *exact != 0);
}

/// What every closed month was billed and corrected by.
async fn billed(site: &Site, zone: Tz, months: &[&str]) -> (Money, BTreeMap<String, i64>) {
    let reader = reader(site, 2).await;
    let (mut money, mut minor) = (Money::new(), BTreeMap::new());
    for month in months {
        let of = close::period(month, zone, &currency()).expect("a month");
        let bill = close::bill(&site.lake, &reader, &of, "tests").await.unwrap_or_else(|e| panic!("{e:?}")).bill;
        add(&mut money, &bill.lines);
        for l in bill.lines {
            *minor.entry(l.corrects.unwrap_or(l.period)).or_default() += l.amount_minor;
        }
    }
    minor.retain(|_, units| *units != 0);
    (money, minor)
}

/// What a lake that knew everything would bill, exactly, and rounded as a whole.
async fn fresh(site: &Site, zone: Tz, months: &[&str]) -> (Money, BTreeMap<String, i64>) {
    let reader = reader(site, 2).await;
    let (mut money, mut minor) = (Money::new(), BTreeMap::new());
    for month in months {
        let of = close::period(month, zone, &currency()).expect("a month");
        let lines = bill::exact(&reader, &of, "fresh").await.unwrap_or_else(|e| panic!("{e:?}")).lines;
        add(&mut money, &lines);
        let whole: i128 = lines.iter().map(|l| l.exact).sum();
        let cent: i128 = 36_000_000_000;
        minor.insert(of.name, i64::try_from((2 * whole + cent).div_euclid(2 * cent)).expect("an amount"));
    }
    minor.retain(|_, units| *units != 0);
    (money, minor)
}

pub(super) fn lake(control: &mut Option<Control>, seed: u64, at: i64, worlds: &[World]) -> Site {
    let site = Site::new();
    *control = Some(reference::control_to_close(site.folder.path(), &mut Rng::new(seed), at, worlds));
    site
}

/// What the slow implementation bills, exactly: nothing of the engine, of its rules or of a close is in it.
fn slow(worlds: &[World], control: &Control, zone: Tz, months: &[&str]) -> Money {
    let mut known = worlds.to_vec();
    known.iter_mut().for_each(|w| reference::known_to(&mut w.facts, control));
    let ledgers: Vec<_> = known.iter().map(|w| oracle::ledger(&w.facts)).collect();
    let mut money = Money::new();
    for month in months {
        let window = close::period(month, zone, &currency()).expect("a month").window;
        let of = |(w, ledger): (&World, &oracle::Ledger)| oracle::pieces(&w.facts, ledger, &w.cluster, window, zone);
        let mut pieces = known.iter().zip(&ledgers).flat_map(of).collect();
        for (key, sum) in oracle::bill(&known[0].facts, &mut pieces, window, zone) {
            let platform = key.team == "(platform)";
            *money.entry(((*month).to_owned(), platform, key.team, key.cost_center)).or_default() += sum.exact;
        }
    }
    money.retain(|_, exact| *exact != 0);
    money
}

async fn compare(seed: u64, zone: Tz) {
    let at = window::instant("2026-03-01", zone).expect("a date");
    let worlds: Vec<World> = [seed, seed + 1].map(|s| make::world(s, at)).into();
    let mut rng = Rng::new(seed);
    let mut pieces: Vec<Segment> =
        worlds.iter().flat_map(|w| drive::segments(&w.facts, &w.cluster, &mut rng, 9)).collect();
    rng.shuffle(&mut pieces);
    let third = pieces.len() / 3;

    let mut control = None;
    let site = lake(&mut control, seed, at, &worlds);
    site.publish(control.as_ref().expect("made")).await;
    site.take_in(&pieces[..2 * third]).await;
    closed(&site, 2, ask("2026-02", zone, 1)).await;
    // another price and another owner become known, of time that is closed; then what is late, some of it a second time
    reference::known_later(control.as_mut().expect("made"), at);
    site.publish(control.as_ref().expect("made")).await;
    site.take_in(&pieces[third..2 * third + third / 2]).await;
    closed(&site, 1, ask("2026-03", zone, 2)).await;
    rng.shuffle(&mut pieces);
    site.take_in(&pieces).await;
    site.take_in(&drive::plain(&worlds)).await;
    let last = closed(&site, 2, ask("2026-04", zone, 3)).await;

    let whole = lake(&mut control, seed, at, &worlds);
    reference::known_later(control.as_mut().expect("made"), at);
    whole.publish(control.as_ref().expect("made")).await;
    whole.take_in(&drive::plain(&worlds)).await;
    whole.build(2).await;
    let (got, got_minor) = billed(&site, zone, &MONTHS).await;
    let (wanted, wanted_minor) = fresh(&whole, zone, &MONTHS).await;
    assert!(wanted.len() > 3, "seed {seed}: nothing to bill proves nothing: {wanted:?}");
    assert_eq!(got, wanted, "seed {seed} {zone}: closed and corrected is what is known (M2)");
    assert_eq!(got_minor, wanted_minor, "seed {seed} {zone}: to the minor unit");
    let slow = slow(&worlds, control.as_ref().expect("made"), zone, &MONTHS);
    assert_eq!(got, slow, "seed {seed} {zone}: closed and corrected is what a loop over milliseconds bills");
    assert!(!last.corrects.is_empty(), "seed {seed}: nothing came late");
    let m2 = close::m2(&site.lake, 2).await.expect("checked").expect("something is closed");
    assert!(!m2.violated, "{m2:?}");
    for month in MONTHS {
        let found = close::verify(&site.lake, 2, month).await.unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(found.differs, Vec::<String>::new(), "seed {seed} {month}: {found:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_m2_closed_and_corrected_is_what_is_known_in_the_end() {
    let asked = std::env::var("GPULEDGER_WORLDS").ok().and_then(|n| n.parse::<u64>().ok());
    for n in 0..asked.unwrap_or(2) {
        let zone = window::zone(ZONES[n as usize % ZONES.len()]).expect("a zone");
        compare(700 + 2 * n, zone).await;
    }
}

/// Closed months are computed again only where something that their money is made from changed, and what is then billed is proved
/// by a computation of all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_closed_months_are_looked_at_again_only_where_something_of_them_changed() {
    let at = window::instant("2026-03-01", chrono_tz::UTC).expect("a date");
    let worlds = [make::world(748, at)];
    let mut control = None;
    let site = lake(&mut control, 748, at, &worlds);
    let mut control = control.expect("made");
    site.publish(&control).await;
    site.take_in(&drive::plain(&worlds)).await;
    for (nonce, month) in (1..).zip(&MONTHS[..2]) {
        closed(&site, 2, ask(month, chrono_tz::UTC, nonce)).await;
    }
    let april = || ask("2026-04", chrono_tz::UTC, 9);
    let next = async || {
        site.build(2).await;
        let reader = reader(&site, 2).await;
        close::propose(&site.lake, &reader, &april()).await.unwrap_or_else(|e| panic!("{e:?}")).draft
    };
    let draft = next().await;
    assert_eq!((draft.unchanged, draft.corrections.len()), (vec!["2026-02".to_owned(), "2026-03".to_owned()], 0));
    // a price of May ends the open ones and every day is built anew: all is looked at again, and nothing is to be corrected
    reference::known(&mut control, ReferenceTable::Rates, &[",,,H200,,20,CNY,2026-05-01T00:00:00Z,".to_owned()]);
    site.publish(&control).await;
    let draft = next().await;
    assert_eq!((draft.unchanged, draft.corrections.len()), (Vec::<String>::new(), 0));
    closed(&site, 2, april()).await;
    for month in MONTHS {
        let found = close::verify(&site.lake, 2, month).await.unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(found.differs, Vec::<String>::new(), "{month}: {found:#?}");
    }
}

/// A price that begins after the closed months is not theirs; one inside a month is found, and the month before it is left alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_a_price_after_the_closed_months_leaves_them_alone_and_one_inside_a_month_is_found() {
    let [march, april] = ["2026-03-01", "2026-04-10"].map(|d| window::instant(d, chrono_tz::UTC).expect("a date"));
    // every build makes the last day anew: with usage in April that is no day of a closed month
    let worlds = [make::world(748, march), make::world(746, april)];
    let mut control = None;
    let site = lake(&mut control, 748, march, &worlds);
    let mut control = control.expect("made");
    site.publish(&control).await;
    site.take_in(&drive::plain(&worlds)).await;
    for (nonce, month) in (1..).zip(&MONTHS[..2]) {
        closed(&site, 2, ask(month, chrono_tz::UTC, nonce)).await;
    }
    let after = vec![",,,H200,,20,CNY,2026-05-01T00:00:00Z,".to_owned()];
    let inside = [",,,H200,", ",,pool-a,,"].map(|of| format!("{of},99,CNY,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z"));
    for (rates, unchanged, corrected) in
        [(after, &MONTHS[..2], &MONTHS[..0]), (inside.to_vec(), &MONTHS[..1], &MONTHS[1..2])]
    {
        reference::known(&mut control, ReferenceTable::Rates, &rates);
        // prices alone: with the inventory, which makes the cells, every day would be built anew
        let published = gpuledger_aggregator::reference::publish(&site.lake, &control, ReferenceTable::Rates).await;
        published.unwrap_or_else(|e| panic!("{e:?}"));
        site.build(2).await;
        let reader = reader(&site, 2).await;
        let found = close::propose(&site.lake, &reader, &ask("2026-04", chrono_tz::UTC, 3)).await;
        let draft = found.unwrap_or_else(|e| panic!("{e:?}")).draft;
        let corrections: Vec<&str> = draft.corrections.iter().map(|c| c.period.as_str()).collect();
        assert_eq!(draft.unchanged, unchanged, "{rates:?}");
        assert_eq!(corrections, corrected, "{rates:?}");
    }
    // what the close takes for granted, the proofs compute
    let done = closed(&site, 2, ask("2026-04", chrono_tz::UTC, 3)).await;
    assert_eq!(done.corrects, ["2026-03"]);
    for month in MONTHS {
        let found = close::verify(&site.lake, 2, month).await.unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(found.differs, Vec::<String>::new(), "{month}: {found:#?}");
    }
    let m2 = close::m2(&site.lake, 2).await.expect("checked").expect("something is closed");
    assert!(!m2.violated, "{m2:?}");
}

/// A lake with one world, its ledger built.
async fn one(seed: u64) -> Site {
    let at = window::instant("2026-03-01", chrono_tz::UTC).expect("a date");
    let worlds = [make::world(seed, at)];
    let mut control = None;
    let site = lake(&mut control, seed, at, &worlds);
    site.publish(control.as_ref().expect("made")).await;
    site.take_in(&drive::plain(&worlds)).await;
    site.build(2).await;
    site
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_m3_a_month_closed_with_one_and_sixteen_partitions_has_one_hash() {
    let (a, b) = (one(740).await, one(740).await);
    let one = closed(&a, 1, ask("2026-03", chrono_tz::UTC, 1)).await;
    let sixteen = closed(&b, 16, ask("2026-03", chrono_tz::UTC, 2)).await;
    assert!(one.charges > 0 && one.close_id != sixteen.close_id);
    assert_eq!(one.output_sha256, sixteen.output_sha256);
}

/// Rows of the written tables: of every close that wrote any.
async fn written(site: &Site) -> BTreeMap<String, usize> {
    let reader = reader(site, 1).await;
    close::closed_tables(&site.lake, &reader).await.expect("registered");
    let rows = drive::rows(reader.engine(), "SELECT close_id, count(*) FROM written_line GROUP BY close_id").await;
    rows.into_iter().map(|r| (r[0].clone().expect("an id"), r[1].as_ref().expect("n").parse().expect("n"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_a_close_that_dies_after_any_step_leaves_no_half_close() {
    let site = one(742).await;
    let mut nonce = 0;
    for step in [Step::Computed, Step::Charges, Step::Lines, Step::Files, Step::Closed] {
        nonce += 1;
        let reader = reader(&site, 2).await;
        let ask = waived(&site, &reader, ask("2026-03", chrono_tz::UTC, nonce)).await;
        let lake = site.lake.clone();
        let died = tokio::spawn(async move {
            let mut stop = |at| assert_ne!(at, step, "it dies here");
            close::close(&lake, &reader, &ask, &mut stop).await
        });
        assert!(died.await.is_err_and(|e| e.is_panic()), "{step:?}");
        let there = Manifest::find(&site.lake, "2026-03").await.expect("readable");
        assert_eq!(there.is_some(), step == Step::Closed, "{step:?}");
    }
    // it died after its document was there: it is closed, and closing again finds that
    let done = Manifest::find(&site.lake, "2026-03").await.expect("readable").expect("closed");
    let reader = reader(&site, 2).await;
    let again = close::close(&site.lake, &reader, &ask("2026-03", chrono_tz::UTC, 9), &mut |_| {}).await;
    assert!(matches!(&again, Ok(Closed::Before(m)) if m.close_id == done.close_id), "{again:?}");
    let rows = written(&site).await;
    assert_eq!(rows.len(), 3, "those that died after their lines, and the one that counts: {rows:?}");
    let of = ask("2026-03", chrono_tz::UTC, 9).period;
    let bill = close::bill(&site.lake, &reader, &of, "tests").await.expect("a bill");
    assert_eq!((bill.bill.lines.len() as u64, rows[&done.close_id] as u64), (done.lines, done.lines));
    // what died is taken out, what counts stays and is proved
    assert_eq!(close::sweep(&site.lake).await.expect("swept").len(), 3, "one died before its lines");
    assert_eq!(written(&site).await.keys().cloned().collect::<Vec<_>>(), [done.close_id.clone()]);
    let found = close::verify(&site.lake, 2, "2026-03").await.expect("verified");
    assert_eq!(found.differs, Vec::<String>::new(), "{found:#?}");
}

/// In a bucket no lock keeps two apart: the document does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_c45_of_two_closes_at_once_one_counts_and_the_other_says_so() {
    let site = one(744).await;
    let mut both = Vec::new();
    for nonce in [1, 2] {
        let reader = reader(&site, 1).await;
        let ask = waived(&site, &reader, ask("2026-03", chrono_tz::UTC, nonce)).await;
        let lake = site.lake.clone();
        both.push(tokio::spawn(async move { close::close(&lake, &reader, &ask, &mut |_| {}).await }));
    }
    let mut ended = Vec::new();
    for one in both {
        ended.push(one.await.expect("no panic").unwrap_or_else(|e| panic!("{e:?}")));
    }
    let won: Vec<_> = ended.iter().filter_map(|e| if let Closed::Done(m) = e { Some(m) } else { None }).collect();
    let other = ended.iter().filter_map(|e| if let Closed::Lost(m) | Closed::Before(m) = e { Some(m) } else { None });
    assert_eq!(won.len(), 1, "{ended:?}");
    assert!(other.clone().count() == 1 && other.into_iter().all(|m| m.close_id == won[0].close_id));
    let reader = reader(&site, 1).await;
    let of = ask("2026-03", chrono_tz::UTC, 9).period;
    let bill = close::bill(&site.lake, &reader, &of, "tests").await.expect("a bill").bill;
    assert_eq!(bill.lines.len() as u64, won[0].lines);
    assert!(bill.lines.iter().all(|l| l.close_id == won[0].close_id));
}

/// Minutes are kept for a while, cells for ever: without minutes a close is derived again from its cells, and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worlds_without_minutes_a_close_is_proved_from_its_cells() {
    let site = one(746).await;
    // the month before has usage too: while it is open its minutes stay
    closed(&site, 2, ask("2026-02", chrono_tz::UTC, 0)).await;
    let done = closed(&site, 2, ask("2026-03", chrono_tz::UTC, 1)).await;
    // an open month looks back for failures of devices, a closed one does not
    closed(&site, 2, ask("2026-04", chrono_tz::UTC, 2)).await;
    let path = |file: &close::DataFile| site.folder.path().join("lake").join(&file.path);
    // minutes that go before their time are no matter of retention
    let minute = done.files.iter().find(|f| f.table == "device_minute").expect("minutes");
    let bytes = std::fs::read(path(minute)).expect("read");
    std::fs::remove_file(path(minute)).expect("removed");
    let found = close::verify(&site.lake, 2, "2026-03").await.expect("verified");
    assert!(found.differs.iter().any(|d| d.contains(&minute.path)), "{found:#?}");
    std::fs::write(path(minute), bytes).expect("written");

    let long_after = MaintainAsk { now_ms: done.closed_ms + 1_000 * DAY_MS, keep_cuts_ms: 0, dry_run: false };
    maintain(&site.lake, long_after).await.expect("upkeep");
    assert!(!path(minute).exists());
    let found = close::verify(&site.lake, 2, "2026-03").await.expect("verified");
    assert_eq!(found.differs, Vec::<String>::new());
    assert!(found.holds.iter().any(|h| h.contains("derived again from cells")), "{found:#?}");
    // anything derived that is gone is no matter of retention
    let cell = done.files.iter().find(|f| f.table == "usage" || f.table == "run").expect("what was derived");
    std::fs::remove_file(path(cell)).expect("removed");
    let found = close::verify(&site.lake, 2, "2026-03").await.expect("verified");
    assert!(found.differs.iter().any(|d| d.contains(&cell.path)), "{found:#?}");
}
