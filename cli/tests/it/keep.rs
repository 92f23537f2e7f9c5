//! Documents, upkeep, backup and restore with the real binary.

use std::process::{Command, Stdio};

use crate::case_time::table_of;
use crate::site::{PLAIN_MAP, Site, done};
use crate::table::{Table, decimal};

const WAIVE: [&str; 6] = ["--waive", "coverage", "--reason", "no telemetry here", "--approver", "grace"];

fn closed_march() -> Site {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.reference("owners", "kind,value,team,cost_center\naccount,*,{value},CC-1\n");
    let jobs = [
        ("a", "2025-03-10T00:00:00Z", "2025-03-10T10:00:01Z", 10),
        ("自然语言", "2025-03-31T20:00:00Z", "2025-04-01T02:00:00Z", 3),
    ];
    site.jobs(&table_of(&jobs));
    site.ok(&[&["close", "2025-03"][..], &WAIVE].concat());
    site
}

#[test]
fn every_document_has_the_same_amounts() {
    let site = closed_march();
    let total = site.table(&["statement", "2025-03"]).sum("amount");
    let lines = Table::read(&site.ok(&["export", "2025-03", "--as", "csv"]));
    assert_eq!(lines.sum("amount"), total);
    let accounts = ["--expense-account", "62000", "--recovery-account", "48500", "--platform-cost-center", "IT"];
    let posting = Table::read(&site.ok(&[&["export", "2025-03", "--as", "posting"][..], &accounts].concat()));
    let money = |column: &str| -> Vec<&str> { posting.column(column).into_iter().filter(|c| !c.is_empty()).collect() };
    let sum = |column: &str| money(column).into_iter().map(decimal).sum::<i128>();
    assert_eq!((sum("debit"), sum("credit")), (total, total));
    let json = site.ok(&["export", "2025-03", "--as", "json"]);
    assert!(json.contains("\"format\": \"gpuledger.bill/1\"") && json.contains("自然语言"), "{json}");
    let out = site.beside("out");
    std::fs::create_dir(&out).unwrap();
    let folder = out.to_str().unwrap();
    for (document, name) in [
        ("xlsx", "2025-03-bill.xlsx"),
        ("parquet", "2025-03-lines.parquet"),
        ("focus", "2025-03-focus.parquet"),
        ("focus-csv", "2025-03-focus.csv"),
        ("table", "2025-03-bill.txt"),
    ] {
        site.ok(&["export", "2025-03", "--as", document, "--out", folder]);
        let first = std::fs::read(out.join(name)).unwrap();
        site.ok(&["export", "2025-03", "--as", document, "--out", folder]);
        assert!(first == std::fs::read(out.join(name)).unwrap(), "{name}: the same bytes each time");
    }
    let focus = Table::read(&std::fs::read_to_string(out.join("2025-03-focus.csv")).unwrap());
    assert!(focus.rows.len() >= 2 && focus.column("InvoiceId").iter().all(|i| i.starts_with("2025-03/")));
    assert!(!out.read_dir().unwrap().any(|f| f.unwrap().path().extension().is_some_and(|e| e == "part")));
    // what is not closed says so; what makes no sense is refused
    let draft = site.run(&["export", "2025-04", "--as", "csv"]);
    assert!(draft.code == 0 && draft.err.contains("this is a draft"), "{draft:#?}");
    site.run(&["export", "2025-03", "--as", "doc"]).fails(2, &["is not one of"]);
    site.run(&["export", "2025", "--as", "csv"]).fails(2, &["is no month"]);
    site.run(&["export", "2025-03", "--as", "posting"]).fails(2, &["--expense-account"]);
    site.run(&["export", "2025-Q1", "--as", "focus"]).fails(2, &["month by month"]);
}

#[test]
fn upkeep_keeps_what_was_closed_and_every_answer() {
    let site = closed_march();
    for day in 5..9 {
        let (from, to) = (format!("2025-04-0{day}T00:00:00Z"), format!("2025-04-0{day}T05:00:00Z"));
        let map = site.file("plain.toml", PLAIN_MAP);
        let csv = table_of(&[("a", &from, &to, 1)]).replace('\n', &format!("\nday{day}"));
        let file = site.file("more.csv", csv.trim_end_matches(&format!("day{day}")));
        site.ok(&["import", "jobs", "--cluster", "alpha", "--map", &map, &file]);
    }
    let answers = || [site.ok(&["report", "charge", "--month", "2025-04"]), site.ok(&["statement", "2025-03"])];
    let before = answers();
    let would = site.ok(&["maintain", "--dry-run", "--keep-cuts", "0"]);
    assert!(would.contains("nothing was done") && would.contains("put together"), "{would}");
    let did = site.ok(&["maintain", "--keep-cuts", "0"]);
    assert!(did.contains("files put together into") && did.contains("names the same rows"), "{did}");
    assert_eq!(answers(), before);
    let proof = site.ok(&["verify", "2025-03"]);
    assert!(proof.contains("is verified") && proof.contains("derived again"), "{proof}");
    let again = site.ok(&["maintain", "--keep-cuts", "0"]);
    assert!(again.contains("no rows were moved") && !again.contains("put together"), "{again}");
    assert_eq!(answers(), before);
}

#[test]
fn a_backup_under_a_writer_is_restored_and_proved() {
    let site = closed_march();
    let map = site.file("plain.toml", PLAIN_MAP);
    let file = site.file("more.csv", table_of(&[("b", "2025-04-05T00:00:00Z", "2025-04-05T05:00:00Z", 1)]));
    let mut import = site.command(&["import", "jobs", "--cluster", "beta", "--map", &map, &file]);
    let child = import.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (there, back) = (site.beside("backup"), site.beside("back"));
    let (there, back) = (there.to_str().unwrap(), back.to_str().unwrap());
    site.ok(&["backup", there]);
    assert_eq!(done(child.wait_with_output().unwrap()).code, 0);
    site.run(&["restore", there]).fails(2, &["is there"]);
    let other = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuledger"));
        let config = site.beside("gpuledger.toml");
        let done = done(command.args(args).args(["--data", back]).arg("--config").arg(config).output().unwrap());
        assert_eq!(done.code, 0, "{done:#?}");
        done.out
    };
    other(&["restore", there]);
    assert!(other(&["verify", "2025-03"]).contains("is verified"));
    assert_eq!(other(&["statement", "2025-03"]), site.ok(&["statement", "2025-03"]));
    assert_eq!(other(&["rates", "list"]), site.ok(&["rates", "list"]));
    // the heads of the log came along, and fit it
    let heads = other(&["audit", "verify"]);
    assert!(heads.contains("the log is whole") && !heads.contains(" 0 kept heads"), "{heads}");
    // a second backup writes what is new alone
    let again = site.ok(&["backup", there]);
    let number = |word: &str| -> usize {
        let at = again.find(word).unwrap();
        again[..at].trim_end().rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(number("were there") > number("objects written"), "{again}");
    site.run(&["backup", site.data().to_str().unwrap()]).fails(2, &["lies elsewhere"]);
}
