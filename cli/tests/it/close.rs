//! Closing months with the real binary: late data, late prices and owners, twice, at once, and what is proved afterwards.

use std::process::Stdio;

use crate::case_time::table_of;
use crate::site::{Done, PLAIN_MAP, Site, done};
use crate::table::{Table, decimal};

/// What an accounting-only fleet needs to be closed: nothing measures it.
const WAIVE: [&str; 6] = ["--waive", "coverage", "--reason", "no telemetry here", "--approver", "grace"];

/// A fleet in dollars where every account is a team, at 10.00 a GPU-hour.
fn fleet(zone: &str) -> Site {
    let site = Site::billed(zone, "USD");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site
}

fn close(site: &Site, month: &str, more: &[&str]) -> Done {
    site.run(&[&["close", month][..], more].concat())
}

#[track_caller]
fn closed(site: &Site, month: &str) -> String {
    let done = close(site, month, &WAIVE);
    assert_eq!(done.code, 0, "{done:#?}");
    done.out
}

fn lines(site: &Site, month: &str, more: &[&str]) -> Table {
    site.table(&[&["statement", month][..], more].concat())
}

#[track_caller]
fn verified(site: &Site, month: &str) -> String {
    let done = site.run(&["verify", month]);
    assert!(done.code == 0 && done.out.contains("is verified"), "{done:#?}");
    done.out
}

/// Imports late jobs; the file is another than the first.
fn late(site: &Site, jobs: &[(&str, &str, &str, u32)]) {
    let csv = table_of(jobs).replace("\n", "\nlate");
    let csv = csv.trim_end_matches("late");
    let (map, file) = (site.file("plain.toml", PLAIN_MAP), site.file("late.csv", csv));
    site.ok(&["import", "jobs", "--cluster", "alpha", "--map", &map, &file]);
}

const MARCH: (&str, &str, &str, u32) = ("a", "2025-03-10T00:00:00Z", "2025-03-10T10:00:00Z", 10);
const LATE: (&str, &str, &str, u32) = ("a", "2025-03-31T23:50:00Z", "2025-04-01T00:00:00Z", 8);
const APRIL: (&str, &str, &str, u32) = ("a", "2025-04-05T00:00:00Z", "2025-04-05T05:00:00Z", 1);

/// Ten minutes of eight GPUs that arrive after the close stay in March as a correction of April, on the day of their use.
#[test]
fn c46_late_data_after_a_close_is_an_adjustment_of_the_next_month() {
    let site = fleet("UTC");
    site.jobs(&table_of(&[MARCH]));
    let told = closed(&site, "2025-03");
    assert!(told.contains("billed 1,000.00 USD"), "{told}");
    let march = site.ok(&["statement", "2025-03"]);

    late(&site, &[LATE, APRIL]);
    let preview = site.table(&["correct", "preview", "--period", "2025-03"]);
    assert_eq!((preview.one("amount"), preview.one("corrects")), ("13.33", "2025-03"));
    closed(&site, "2025-04");
    assert_eq!(site.ok(&["statement", "2025-03"]), march, "March stays as issued");
    let april = lines(&site, "2025-04", &["--team", "a"]);
    assert_eq!(april.rows.len(), 2, "{april:#?}");
    assert_eq!(april.get(&[("kind", "correction")], "amount"), "13.33");
    assert_eq!(april.get(&[("kind", "correction")], "quantity_hours"), "1.3333");
    assert_eq!(april.get(&[("kind", "correction")], "corrects"), "2025-03");
    assert!(
        april
            .get(&[("kind", "correction")], "reason")
            .contains("usage became known after the close (+1.3333 GPU-hours)")
    );
    assert_eq!(april.get(&[("kind", "use")], "amount"), "50.00", "April's use is what it was");
    let days = site.sql(
        "SELECT local_day, period, sum(quantity_ms) AS ms FROM closed_charge WHERE period = '2025-04' GROUP BY local_day, period ORDER BY local_day",
    );
    assert_eq!(days.column("local_day"), ["20250331", "20250405"]);
    assert_eq!(days.column("ms"), ["4800000", "18000000"]);
    // nothing more is to be corrected, and everything is proved
    assert!(site.ok(&["correct", "preview"]).contains("there is nothing to correct"));
    let check = site.ok(&["check"]);
    assert!(check.lines().any(|l| l.starts_with("M2") && l.contains(" ok ")), "{check}");
    let proof = verified(&site, "2025-03") + &verified(&site, "2025-04");
    assert_eq!(proof.matches("derived again from what was observed").count(), 2, "{proof}");
}

#[test]
fn c46_late_data_before_the_close_joins_its_month() {
    let site = fleet("UTC");
    site.jobs(&table_of(&[MARCH]));
    late(&site, &[LATE, APRIL]);
    assert!(closed(&site, "2025-03").contains("billed 1,013.33 USD"));
    assert!(closed(&site, "2025-04").contains("billed 50.00 USD (of it corrections 0.00 USD)"));
}

/// A price that changed in the middle of March and was entered after its close; the first half stays.
#[test]
fn c38_a_price_entered_after_the_close_corrects_from_its_date_on() {
    let site = Site::billed("Asia/Shanghai", "CNY");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.jobs(&table_of(&[("a", "2025-02-28T16:00:00Z", "2025-03-31T16:00:00Z", 1)]));
    assert!(closed(&site, "2025-03").contains("billed 7,440.00 CNY"));
    let rates = site.file("late-rates.csv", "price,from\n12,2025-03-15\n");
    site.run(&["rates", "import", &rates]).fails(1, &["2025-03"]);
    let forced = ["--force", "--reason", "entered late", "--approver", "grace"];
    site.ok(&[&["rates", "import", &rates][..], &forced].concat());
    late(&site, &[("a", "2025-04-05T00:00:00Z", "2025-04-05T01:00:00Z", 1)]);
    closed(&site, "2025-04");
    let april = lines(&site, "2025-04", &["--team", "a"]);
    let old = [("kind", "correction"), ("price", "10.000000")];
    let new = [("kind", "correction"), ("price", "12.000000")];
    assert_eq!((april.get(&old, "amount"), april.get(&old, "quantity_hours")), ("-4080.00", "-408.0000"));
    assert_eq!((april.get(&new, "amount"), april.get(&new, "quantity_hours")), ("4896.00", "408.0000"));
    assert!(april.get(&new, "reason").contains("another price"));
    assert_eq!(april.get(&[("kind", "use")], "amount"), "12.00");
    assert_eq!(april.sum("amount"), decimal("828.00"), "8256.00 in all for March");
    verified(&site, "2025-03");
    verified(&site, "2025-04");
}

/// An owner who is named after the close: the account `unassigned` gets back what the team now pays, and nothing is lost between.
#[test]
fn c46_an_owner_who_is_named_after_the_close() {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.jobs(&table_of(&[MARCH]));
    let list = close(&site, "2025-03", &WAIVE);
    assert!(list.code == 1 && list.out.contains("unowned:alpha/a [OPEN]"), "{list:#?}");
    assert!(list.out.contains("coverage [waived]"), "{list:#?}");
    let told = close(&site, "2025-03", &["--waive", "unowned", "--reason", "nobody knows yet", "--approver", "grace"]);
    assert_eq!(told.code, 0, "{told:#?}");
    let owners = site.file("owners.csv", "kind,value,team,cost_center\naccount,a,red,100\n");
    site.ok(&["owners", "import", &owners, "--force", "--reason", "asked round", "--approver", "grace"]);
    late(&site, &[APRIL]);
    closed(&site, "2025-04");
    let april = lines(&site, "2025-04", &[]);
    assert_eq!(april.get(&[("team", "unassigned")], "amount"), "-1000.00");
    assert_eq!(april.get(&[("team", "red"), ("kind", "correction")], "amount"), "1000.00");
    assert!(april.get(&[("team", "red"), ("kind", "correction")], "reason").contains("another owner"));
    assert_eq!(april.sum("amount"), decimal("50.00"));
    verified(&site, "2025-04");
}

#[test]
fn c45_closing_again_finds_the_first() {
    let site = fleet("Asia/Kolkata");
    site.jobs(&table_of(&[MARCH]));
    let first = closed(&site, "2025-03");
    let rows = || site.sql("SELECT count(*) AS n, sum(amount_minor) AS minor FROM closed_line");
    let before = (rows().one("n").to_owned(), rows().one("minor").to_owned());
    let hash = first.lines().last().unwrap().to_owned();
    for _ in 0..2 {
        let again = close(&site, "2025-03", &[]);
        assert!(again.code == 0 && again.out.contains("was closed before") && again.out.contains(&hash), "{again:#?}");
    }
    site.reference("rates", "price,from\n99,2025-06-01\n");
    let again = closed(&site, "2025-03");
    assert!(again.contains("was closed before") && again.contains(&hash), "{again}");
    assert_eq!((rows().one("n").to_owned(), rows().one("minor").to_owned()), before);
    let periods = site.table(&["periods"]);
    assert_eq!(periods.get(&[("period", "2025-03")], "state"), "CLOSED");
    assert_eq!(periods.get(&[("period", "2025-03")], "billed"), "1000.00");
    assert!(hash.ends_with(periods.get(&[("period", "2025-03")], "output_sha256")));
}

#[test]
fn c45_two_closes_at_the_same_moment() {
    let site = fleet("UTC");
    site.jobs(&table_of(&[MARCH]));
    // the ledger is built before, so that both come to the close at once
    site.ok(&["report", "charge", "--month", "2025-03"]);
    let start = || {
        let mut command = site.command(&[&["close", "2025-03"][..], &WAIVE].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()].map(|child| done(child.wait_with_output().unwrap()));
    assert_eq!(both.iter().filter(|d| d.code == 0 && d.out.contains("is closed:")).count(), 1, "{both:#?}");
    let other = both.iter().find(|d| !d.out.contains("is closed:")).unwrap();
    let said = other.err.contains("another gpuledger is writing") || other.out.contains("was closed before");
    assert!(said, "{both:#?}");
    assert_eq!(site.sql("SELECT count(*) AS n FROM closed_line").one("n"), "1");
}

/// What stands in the way says how to mend it; nothing is written; a waiver needs a name.
#[test]
fn a_close_is_refused_with_what_would_mend_it() {
    let site = fleet("UTC");
    site.jobs(&table_of(&[MARCH, ("b", "2025-02-10T00:00:00Z", "2025-02-10T01:00:00Z", 1)]));
    let refused = close(&site, "2025-03", &[]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    for words in
        ["coverage [OPEN]", "earlier_open:2025-02 [OPEN]", "mend: `gpuledger close 2025-02` first", "is not closed"]
    {
        assert!(refused.out.contains(words) || refused.err.contains(words), "{words}: {refused:#?}");
    }
    assert_eq!(site.table(&["periods"]).column("state"), ["COLLECTING", "COLLECTING"]);
    close(&site, "2025-03", &["--waive", "coverage"]).fails(2, &["--reason", "--approver"]);
    close(&site, "2025-03", &["--waive", "weather", "--reason", "x", "--approver", "y"]).fails(2, &["weather"]);
    let dry = close(&site, "2025-02", &[&["--dry-run"][..], &WAIVE].concat());
    assert!(dry.code == 0 && dry.out.contains("coverage [waived]"), "{dry:#?}");
    assert!(!site.data().join("closes").exists(), "a dry run writes nothing");
    let next = close(&site, "2099-01", &[]);
    assert!(next.code == 1 && next.out.contains("not_over [OPEN, cannot be waived]"), "{next:#?}");
    close(&site, "march", &[]).fails(2, &["march"]);
    site.run(&["verify", "2025-03"]).fails(1, &["2025-03 is not closed"]);
    site.run(&["correct", "preview", "--period", "2025-03"]).fails(1, &["2025-03 is not closed"]);
}

/// A run that is in the lake twice (L6), as no import writes it: nobody can waive that, and nothing is written.
#[test]
fn a_violated_invariant_blocks_a_close_and_cannot_be_waived() {
    let site = fleet("UTC");
    site.jobs(&table_of(&[MARCH]));
    let dry = close(&site, "2025-03", &[&["--dry-run"][..], &WAIVE].concat());
    assert_eq!(dry.code, 0, "nothing else stands against it: {dry:#?}");
    // the commit that wrote the run names a copy of its file beside it
    let table = site.data().join("tables/allocation");
    let commits = std::fs::read_dir(table.join("_delta_log")).unwrap().map(|c| c.unwrap().path());
    let commit = commits.filter(|c| c.extension().is_some_and(|e| e == "json")).max().unwrap();
    let once = std::fs::read_to_string(&commit).unwrap();
    let add = once.lines().find(|l| l.starts_with("{\"add\":")).unwrap();
    let action: serde_json::Value = serde_json::from_str(add).unwrap();
    let file = action["add"]["path"].as_str().unwrap();
    let copy = format!("copy-{file}");
    std::fs::copy(table.join(file), table.join(&copy)).unwrap();
    std::fs::write(&commit, format!("{}\n{}\n", once.trim_end(), add.replace(file, &copy))).unwrap();

    let refused = close(&site, "2025-03", &WAIVE);
    refused.fails(1, &["2025-03 is not closed"]);
    for words in [
        "coverage [waived]",
        "check:L6 [OPEN, cannot be waived]",
        "L6 does not hold: no run, tick or sample is in the lake twice",
        "| allocation ",
        "mend: `gpuledger check` shows the rows; nothing can be closed over it",
    ] {
        assert!(refused.out.contains(words), "{words}: {refused:#?}");
    }
    for item in ["check:L6", "check"] {
        let waived = close(&site, "2025-03", &["--waive", item, "--reason", "it is one run", "--approver", "grace"]);
        waived.fails(2, &["cannot be waived", "`gpuledger check` shows the rows"]);
    }
    let check = site.run(&["check"]);
    let violated = check.out.lines().any(|l| l.starts_with("L6") && l.contains("VIOLATED"));
    assert!(check.code == 1 && violated, "{check:#?}");
    assert!(!site.data().join("closes").exists(), "no document");
    assert!(!site.data().join("tables/charge").exists(), "and no row of a close without one");
    assert_eq!(site.table(&["periods"]).get(&[("period", "2025-03")], "state"), "COLLECTING");
    // with the run there once, it was this alone that stood against it
    std::fs::write(&commit, &once).unwrap();
    assert!(closed(&site, "2025-03").contains("billed 1,000.00 USD"));
    verified(&site, "2025-03");
}

/// One builder: the statement, the charge report, the close and the tables say the same to the cent.
#[test]
fn c63_one_question_has_one_answer() {
    let site = fleet("Europe/Berlin");
    let jobs =
        [("a", 7), ("b", 3), ("c", 1)].map(|(team, gpus)| (team, "2025-03-10T00:00:00Z", "2025-03-11T03:20:07Z", gpus));
    site.jobs(&table_of(&jobs));
    let report = site.table(&["report", "charge", "--month", "2025-03", "--by", "team"]);
    let draft = lines(&site, "2025-03", &[]);
    let told = closed(&site, "2025-03");
    let statement = lines(&site, "2025-03", &[]);
    for team in ["a", "b", "c"] {
        let charge = report.get(&[("team", team)], "charge");
        assert_eq!(draft.get(&[("team", team)], "amount"), charge);
        assert_eq!(statement.get(&[("team", team)], "amount"), charge);
        let minor = site.sql(&format!("SELECT sum(amount_minor) AS m FROM closed_line WHERE team = '{team}'"));
        assert_eq!(decimal(minor.one("m")) / 100, decimal(charge));
    }
    let total = report.sum("charge");
    assert_eq!(statement.sum("amount"), total);
    let periods = site.table(&["periods"]);
    assert_eq!(decimal(periods.one("billed")), total);
    let spaced =
        format!("billed {}", site.ok(&["statement", "2025-03"]).split(": ").nth(2).unwrap().lines().next().unwrap());
    assert!(told.contains(&spaced), "{spaced} in {told}");
}

/// A lead disputes a line of a draft: the close waits until it is settled.
#[test]
fn a_disputed_line_holds_the_close_up() {
    let site = fleet("UTC");
    site.jobs(&table_of(&[MARCH]));
    let line = lines(&site, "2025-03", &[]).one("line_id").to_owned();
    site.run(&["statement", "dispute", "2025-03", &line, "--by", "ada"]).fails(2, &["--reason"]);
    site.run(&["statement", "dispute", "2025-03", "17", "--by", "ada", "--reason", "x"]).fails(1, &["no line 17"]);
    site.ok(&["statement", "dispute", "2025-03", &line, "--by", "ada", "--reason", "the node was down"]);
    let shown = lines(&site, "2025-03", &["--team", "a"]);
    assert_eq!(shown.one("answer"), "disputed by ada: the node was down");
    let refused = close(&site, "2025-03", &WAIVE);
    let item = format!("disputed:{line} [OPEN]");
    assert!(
        refused.code == 1 && refused.out.contains(&item) && refused.out.contains("the node was down"),
        "{refused:#?}"
    );
    site.ok(&["statement", "accept", "2025-03", &line, "--by", "ada"]);
    closed(&site, "2025-03");
    site.run(&["statement", "accept", "2025-03", &line, "--by", "ada"]).fails(2, &["is closed"]);
}
