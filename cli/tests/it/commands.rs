//! Commands as they are typed: help, formats, exit codes, listings, questions in SQL.

use std::io::Read;

use crate::case_time::table_of;
use crate::site::{Site, example};
use crate::table::Table;

/// Every command that takes arguments of its own.
const COMMANDS: [&[&str]; 29] = [
    &["demo"],
    &["import", "sacct"],
    &["import", "jobs"],
    &["import", "sonar"],
    &["ingest"],
    &["inventory"],
    &["pools"],
    &["tiers"],
    &["rules"],
    &["weights"],
    &["rates"],
    &["owners"],
    &["quotas"],
    &["thresholds"],
    &["specs"],
    &["finding-notes"],
    &["contacts"],
    &["report", "accounting"],
    &["report", "usage"],
    &["report", "charge"],
    &["report", "gaps"],
    &["report", "findings"],
    &["report", "job"],
    &["report", "samples"],
    &["findings"],
    &["explain"],
    &["check"],
    &["sql"],
    &[],
];

fn two_teams() -> Site {
    let site = Site::billed("Europe/Berlin", "EUR");
    site.price("3.21");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.jobs(&table_of(&[
        ("red", "2026-03-02T10:00:00Z", "2026-03-02T11:23:45Z", 2),
        ("blue", "2026-03-03T10:00:00Z", "2026-03-03T11:00:00Z", 1),
    ]));
    site
}

#[test]
fn every_help_has_an_example() {
    let site = Site::new();
    for command in COMMANDS {
        let help = site.ok(&[command, &["--help"]].concat());
        assert!(help.contains("Example") && help.contains("gpuledger"), "{command:?}: {help}");
    }
    assert!(site.ok(&["--version"]).starts_with("gpuledger "));
}

#[test]
fn wrong_usage_is_code_2_and_says_what_is_right() {
    let site = two_teams();
    let month = ["--month", "2026-03"];
    let charge = |more: &[&str]| site.run(&[&["report", "charge"][..], &month, more].concat());
    charge(&["--by", "colour"]).fails(2, &["`colour` is not one of: team, "]);
    charge(&["--step", "week"]).fails(2, &["`week` is not one of: day, month"]);
    charge(&["--zone", "CET+1"]).fails(2, &["unknown time zone `CET+1`"]);
    charge(&["--format", "xml"]).fails(2, &["`xml` is not a format (table, csv, json, parquet)"]);
    charge(&["--from", "2026-03-01"]).fails(2, &["--from"]);
    site.run(&["report", "usage"]).fails(2, &["--month"]);
    site.run(&["report", "usage", "--month", "March"]).fails(2, &["`March` is not a month of the form YYYY-MM"]);
    site.run(&["report", "usage", "--month", "2026-13"]).fails(2, &["`2026-13` is not a month"]);
    site.run(&["report", "usage", "--from", "2026-03-02", "--to", "2026-03-01"])
        .fails(2, &["its end is not after its start"]);
    site.run(&["reprot"]).fails(2, &["reprot"]);
    site.run(&["import", "jobs", "--cluster", "x", "file.csv"]).fails(2, &["--map"]);
    site.run(&["explain", "no-such-job"]).fails(2, &["no run `no-such-job`"]);
    site.run(&["report", "accounting", "--month", "2026-03", "--by", "device"])
        .fails(2, &["cannot be grouped by `device`"]);

    let bare = Site::new();
    bare.run(&["check"]).fails(1, &["there is no data at"]);
    bare.run(&["report", "usage", "--month", "2026-03", "--zone", "UTC"]).fails(1, &["import something first"]);
    bare.jobs(&table_of(&[("a", "2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", 1)]));
    bare.run(&["report", "usage", "--month", "2026-03"]).fails(2, &["--zone", "billing_zone"]);
    bare.run(&["report", "charge", "--month", "2026-03", "--zone", "UTC"]).fails(2, &["there are no rates yet"]);
}

/// Table, CSV, JSON and Parquet of one report say the same to the cent.
#[test]
fn formats_agree() {
    let site = two_teams();
    let args = ["report", "charge", "--month", "2026-03", "--by", "team"];
    let csv = site.table(&args);
    assert_eq!(csv.column("team"), ["blue", "red"]);
    assert_eq!(csv.column("held_hours"), ["1.0000", "2.7917"]);
    assert_eq!(csv.column("charge"), ["3.21", "8.96"]);
    let json: serde_json::Value = serde_json::from_str(&site.ok(&[&args[..], &["--format", "json"]].concat())).unwrap();
    for (i, row) in csv.rows.iter().enumerate() {
        for (name, value) in csv.header.iter().zip(row) {
            let said = &json["rows"][i][name];
            assert_eq!(said.as_str().unwrap_or_default(), value, "{name}");
        }
    }
    assert_eq!((json["total"]["charge"].as_str(), json["currency"].as_str()), (Some("12.17"), Some("EUR")));
    let table = site.ok(&args);
    assert!(table.starts_with("3.8 GPU-hours held cost 12.17 EUR"), "{table}");
    let parquet = site.command(&[&args[..], &["--format", "parquet"]].concat()).output().unwrap();
    assert!(parquet.stdout.starts_with(b"PAR1") && parquet.stdout.ends_with(b"PAR1"));
}

#[test]
fn reference_tables_are_listed_as_they_are_typed() {
    let site = Site::billed("Asia/Shanghai", "CNY");
    let tables = ["inventory", "pools", "tiers", "rules", "weights", "rates", "owners", "quotas"];
    for table in tables.into_iter().chain(["thresholds", "specs", "finding-notes", "contacts"]) {
        let file = example(&format!("reference/{table}.csv"));
        let told = site.ok(&[table, "import", &file]);
        assert!(told.contains("0 there already, version 1"), "{told}");
        let listed = site.ok(&[table, "list", "--format", "csv"]);
        let again = site.file(&format!("{table}-again.csv"), &listed);
        let told = site.ok(&[table, "import", &again]);
        assert!(told.contains(": 0 rows added"), "what is listed reads back as the same rows: {told}");
        assert!(!Table::read(&listed).rows.is_empty());
        assert!(site.ok(&[table, "list"]).lines().count() > 2);
        let json: serde_json::Value = serde_json::from_str(&site.ok(&[table, "list", "--format", "json"])).unwrap();
        assert_eq!(json.as_array().unwrap().len(), Table::read(&listed).rows.len());
    }
}

#[test]
fn sql_reads_and_changes_nothing() {
    let site = two_teams();
    let rows = site.sql(
        "SELECT account, sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS held_ms FROM usage \
                         JOIN run ON run.holder = usage.holder GROUP BY account ORDER BY account",
    );
    assert_eq!((rows.column("account"), rows.column("held_ms")), (vec!["blue", "red"], vec!["3600000", "10050000"]));
    for query in [
        "DROP TABLE usage",
        "DELETE FROM usage",
        "INSERT INTO usage SELECT * FROM usage",
        "CREATE TABLE x AS SELECT 1",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "COPY usage TO '/tmp/x.csv'",
        "SET datafusion.execution.target_partitions = 1",
        "SELECT * FROM '/etc/passwd'",
        "SELECT 1; SELECT 2",
        "SELECT",
    ] {
        site.run(&["sql", query]).fails(1, &["the query was refused or failed"]);
    }
    assert_eq!(
        site.ok(&["sql", "SELECT 1 AS one WHERE false", "--format", "csv"]),
        "one\n",
        "a header even without rows"
    );
    assert_eq!(site.ok(&["sql", "SELECT 1 AS one WHERE false", "--format", "json"]).trim(), "[]");
}

/// From a job's raw id to what it held, at which price.
#[test]
fn explain_goes_from_a_charge_to_its_cells() {
    let site = two_teams();
    let told = site.ok(&["explain", "alpha/0", "--cells"]);
    for word in ["ENDED", "red", "3210000", "2026-03-02"] {
        assert!(told.contains(word), "`{word}` in {told}");
    }
    let json: serde_json::Value = serde_json::from_str(&site.ok(&["explain", "0", "--format", "json"])).unwrap();
    assert_eq!(json[0]["sections"][0]["heading"], "run");
}

/// A pipe from a scheduler's command: standard input, and a reader that goes away.
#[test]
fn standard_input_and_broken_pipes() {
    let site = Site::new();
    let text = "JobID|State|Submit|Start|End|AllocTRES|NodeList\n\
                1|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:00|2026-03-02T11:00:00|gres/gpu=1|n1\n";
    let done = site.run_with(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", "-"], text.as_bytes());
    assert_eq!(done.code, 0, "{done:#?}");
    assert_eq!(site.sql("SELECT source FROM allocation").one("source"), "stdin");

    let mut long =
        site.command(&["sql", "SELECT a.value, b.value FROM range(3000) a, range(300) b", "--format", "csv"]);
    let mut child = long.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut head = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut head).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
