//! What a closed month is proved with: hashes of files, the same bytes derived again, and a trace closed month by month.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::case_time::table_of;
use crate::site::{Site, example, shared, text_of};
use crate::table::{Table, decimal};

const WAIVE: [&str; 6] = ["--waive", "coverage", "--reason", "no telemetry here", "--approver", "grace"];

fn closed_march() -> Site {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    let jobs = [
        ("a", "2025-03-10T00:00:00Z", "2025-03-10T10:00:01Z", 10),
        ("b", "2025-03-31T20:00:00Z", "2025-04-01T02:00:00Z", 3),
    ];
    site.jobs(&table_of(&jobs));
    site.ok(&[&["close", "2025-03"][..], &WAIVE].concat());
    site
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { out.extend(files(&path)) } else { out.push(path) }
    }
    out.sort();
    out
}

fn data_file(site: &Site, table: &str) -> PathBuf {
    let all = files(&site.data().join("tables").join(table));
    all.into_iter().find(|f| f.extension().is_some_and(|e| e == "parquet")).unwrap()
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let at = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::copy(&file, &at).unwrap();
    }
}

#[test]
fn a_copy_that_cannot_be_written_is_verified_and_a_second_import_changes_nothing() {
    let site = closed_march();
    let hash = |text: &str| text.lines().find(|l| l.contains("derived again: sha256")).unwrap().to_owned();
    let before = hash(&site.ok(&["verify", "2025-03"]));
    // the same file again, and April's data
    let jobs = [
        ("a", "2025-03-10T00:00:00Z", "2025-03-10T10:00:01Z", 10),
        ("b", "2025-03-31T20:00:00Z", "2025-04-01T02:00:00Z", 3),
    ];
    site.jobs(&table_of(&jobs));
    site.ok(&["report", "charge", "--month", "2025-04"]);
    assert_eq!(hash(&site.ok(&["verify", "2025-03"])), before);
    assert!(site.ok(&["correct", "preview"]).contains("there is nothing to correct"));

    let there = site.beside("copy");
    copy(&site.data(), &there);
    let permit = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        for file in files(&there) {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o444);
    let names = files(&there);
    let mut elsewhere = std::process::Command::new(env!("CARGO_BIN_EXE_gpuledger"));
    let found = elsewhere.args(["verify", "2025-03", "--data"]).arg(&there).output().unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert_eq!(hash(&found), before);
    assert_eq!(files(&there), names, "verifying writes nothing");
    permit(0o644);
}

#[test]
fn what_was_changed_after_a_close_is_named() {
    let site = closed_march();
    // a byte of the charges
    let charges = data_file(&site, "charge");
    let kept = std::fs::read(&charges).unwrap();
    let mut bytes = kept.clone();
    bytes[12] ^= 1;
    std::fs::write(&charges, &bytes).unwrap();
    let name = charges.file_name().unwrap().to_str().unwrap().to_owned();
    let found = site.run(&["verify", "2025-03"]);
    let said = format!("{}{}", found.out, found.err);
    assert!(found.code == 1 && said.contains(&name), "{found:#?}");
    std::fs::write(&charges, &kept).unwrap();
    site.ok(&["verify", "2025-03"]);
    // a file of what was observed is gone
    let runs = data_file(&site, "allocation");
    let aside = site.beside("aside.parquet");
    std::fs::rename(&runs, &aside).unwrap();
    let found = site.run(&["verify", "2025-03"]);
    let name = runs.file_name().unwrap().to_str().unwrap().to_owned();
    let said = format!("{}{}", found.out, found.err);
    assert!(found.code == 1 && said.contains(&name), "{found:#?}");
    std::fs::rename(&aside, &runs).unwrap();
    site.ok(&["verify", "2025-03"]);
    // the document says other figures than the rows
    let document = site.data().join("closes/2025-03.json");
    let text = std::fs::read_to_string(&document).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hash = value["output_sha256"].as_str().unwrap();
    std::fs::write(&document, text.replace(hash, &"0".repeat(64))).unwrap();
    let found = site.run(&["verify", "2025-03"]);
    assert!(found.code == 1 && found.out.contains("NOT verified") && found.out.contains(hash), "{found:#?}");
}

/// From a line to its charges and the run, with rate, owner row and rules.
#[test]
fn a_cent_is_explained_down_to_the_run() {
    let site = closed_march();
    let told = site.ok(&["explain", "line", "2025-03", "b"]);
    for words in [
        "amount",
        "120.00 USD",
        "alpha",
        "43200000",
        "432000000000000",
        "price_micros",
        "10000000",
        "{value}",
        "rules sha256",
        "output sha256",
    ] {
        assert!(told.contains(words), "`{words}` is not in {told}");
    }
    let statement = site.table(&["statement", "2025-03", "--team", "b"]);
    let by_id = site.ok(&["explain", "line", "2025-03", statement.one("line_id")]);
    assert_eq!(by_id, told);
    site.run(&["explain", "line", "2025-03", "nobody"]).fails(1, &["no line nobody"]);
    site.run(&["explain", "line", "2025-03"]).fails(2, &["explain line PERIOD LINE"]);
}

#[test]
fn what_is_not_charged_is_listed_with_its_reason() {
    let site = Site::billed("UTC", "USD");
    site.reference("rates", "model,price\nNVIDIA A100,10\n");
    site.reference("owners", "kind,value,team\naccount,a,red\n");
    site.sacct(
        "UTC",
        "JobID|Account|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|a|COMPLETED|2025-03-02T00:00:00|2025-03-02T00:00:00|2025-03-02T02:00:00|gres/gpu:NVIDIA A100=1|n1\n\
         2|b|COMPLETED|2025-03-02T00:00:00|2025-03-02T00:00:00|2025-03-02T03:00:00|gres/gpu:NVIDIA A100=1|n1\n\
         3|a|COMPLETED|2025-03-02T00:00:00|2025-03-02T00:00:00|2025-03-02T04:00:00|gres/gpu:NVIDIA H200 NVL=1|n2\n\
         4|a|COMPLETED|2025-03-02T00:00:00|2025-03-02T00:00:00|2025-03-02T04:00:00|cpu=4|n2\n",
    );
    let found = site.table(&["uncharged", "--month", "2025-03"]);
    assert_eq!(found.get(&[("why", "unowned")], "list_value"), "30.00");
    assert_eq!(found.get(&[("why", "unpriced")], "hours"), "4.0000");
    assert_eq!(found.get(&[("why", "unpriced")], "list_value"), "", "what has no price has no value, and not nought");
    assert_eq!((found.get(&[("why", "no_gpu")], "runs"), found.get(&[("why", "no_gpu")], "hours")), ("1", "0.0000"));
}

/// Prices of the trace's months: they change inside October and inside November.
const PRICES: [(&str, i64, i128); 3] =
    [("", i64::MIN, 10_000_000), ("2017-10-15", 1_508_025_600, 12_345_678), ("2017-11-20", 1_511_136_000, 9_870_000)];

/// Exact money of each month by team: a loop over the lines of the file. Seconds x millionths; a GPU-hour is 3 600 of them.
fn exact(path: &str, months: &[(&str, i64, i64)]) -> BTreeMap<(String, String), i128> {
    let mut out: BTreeMap<(String, String), i128> = BTreeMap::new();
    for row in Table::read(&text_of(path)).rows {
        let start = chrono::NaiveDateTime::parse_from_str(&row[0], "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp();
        let end = start + row[1].split_once('.').unwrap().0.parse::<i64>().unwrap();
        let gpus: i128 = row[2].parse().unwrap();
        for (month, from, to) in months {
            for (i, (_, since, price)) in PRICES.iter().enumerate() {
                let until = PRICES.get(i + 1).map_or(i64::MAX, |p| p.1);
                let inside = end.min(*to).min(until) - start.max(*from).max(*since);
                if inside > 0 {
                    *out.entry(((*month).to_owned(), row[4].clone())).or_default() += i128::from(inside) * gpus * price;
                }
            }
        }
    }
    out
}

/// `exact / 3 600 / 10^4` cents, rounded half up.
fn cents(exact: i128) -> i128 {
    (2 * exact + 36_000_000).div_euclid(72_000_000)
}

/// The same by Python's decimal: of a month and team seconds x millionths, and of a month alone (no team) its total. None without Python.
fn by_decimal(jobs: &str, months: &[(&str, i64, i64)]) -> Option<BTreeMap<(String, String), String>> {
    let prices = PRICES.iter().map(|(_, since, p)| format!("{since}={}.{:06}", p / 1_000_000, p % 1_000_000));
    let named = months.iter().map(|(name, from, to)| format!("{name}={from}={to}"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/philly_decimal.py");
    let mut python = std::process::Command::new("python3");
    python.args([script, jobs]).arg(prices.collect::<Vec<_>>().join(",")).arg(named.collect::<Vec<_>>().join(","));
    let Ok(done) = python.output() else {
        println!("skipped: there is no python3 to compute the months by decimal");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let row = |line: &str| {
        let (month, rest) = line.split_once(',')?;
        let (team, money) = rest.split_once(',')?;
        Some(((month.to_owned(), team.to_owned()), money.to_owned()))
    };
    Some(String::from_utf8(done.stdout).unwrap().lines().filter_map(row).collect())
}

#[test]
fn philly_months_closed_one_after_another_are_exact_to_the_cent() {
    let Some(folder) = shared("philly_months_closed_one_after_another", "data/philly-vc-jobs") else { return };
    let (map, jobs) = (example("maps/philly.toml"), format!("{folder}/philly_jobs.csv.gz"));
    let site = Site::billed("UTC", "USD");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    // a file is right by itself: each price ends where the next begins
    let ends = PRICES.iter().skip(1).map(|(from, ..)| *from).chain([""]);
    let rates: Vec<String> = PRICES
        .iter()
        .zip(ends)
        .map(|((from, _, p), to)| format!("{}.{:06},{from},{to}\n", p / 1_000_000, p % 1_000_000))
        .collect();
    site.reference("rates", &format!("price,from,to\n{}", rates.concat()));
    site.ok(&["import", "jobs", "--cluster", "philly", "--map", &map, &jobs]);
    let months = [
        ("2017-09", 1_504_224_000, 1_506_816_000),
        ("2017-10", 1_506_816_000, 1_509_494_400),
        ("2017-11", 1_509_494_400, 1_512_086_400),
        ("2017-12", 1_512_086_400, 1_514_764_800),
    ];
    let exact = exact(&jobs, &months);
    let by_decimal = by_decimal(&jobs, &months);
    for (month, _, _) in months {
        site.ok(&[&["close", month][..], &WAIVE].concat());
        let lines = site.table(&["statement", month]);
        let mut all = 0;
        for ((_, team), exact) in exact.iter().filter(|((m, _), _)| m == month) {
            let of_team: Vec<_> = lines.rows.iter().filter(|r| r[lines.at("team")] == *team).collect();
            let billed: i128 = of_team.iter().map(|r| decimal(&r[lines.at("amount")]) / 100).sum();
            let kept: i128 = of_team.iter().map(|r| r[lines.at("exact")].parse::<i128>().unwrap()).sum();
            assert_eq!(kept, exact * 1_000, "{month} {team}: exactly");
            assert!((billed - cents(*exact)).abs() <= 1, "{month} {team}: {billed}");
            all += exact;
        }
        let total = lines.sum("amount") / 100;
        assert_eq!(total, cents(all), "{month}: the total is the exact sum, rounded once");
        if let Some(by_decimal) = &by_decimal {
            let of = |team: &str| by_decimal.get(&(month.to_owned(), team.to_owned())).unwrap();
            assert_eq!(decimal(of("")) / 100, total, "{month} by decimal");
            for ((_, team), exact) in exact.iter().filter(|((m, _), _)| m == month) {
                assert_eq!(of(team).parse(), Ok(*exact), "{month} {team} by decimal");
            }
        }
    }
    let done = site.run(&["verify", "2017-10"]);
    assert!(done.code == 0, "{done:#?}");
    let check = site.ok(&["check"]);
    assert!(check.lines().any(|l| l.starts_with("M2") && l.contains(" ok ")), "{check}");
}

/// The document of a close keeps the head of the audit log: it is compared also where the heads of changes are gone.
#[test]
fn a_close_keeps_the_head_of_the_audit_log() {
    let site = closed_march();
    assert!(site.ok(&["audit", "verify"]).contains("the log is whole"));
    std::fs::remove_dir_all(site.data().join("audit")).unwrap();
    assert!(site.ok(&["audit", "verify"]).contains(" 1 kept heads compared"));
}

/// The documents of closes are the truth: a control file that was away when a month was closed does not let it be changed.
#[test]
fn a_closed_month_is_settled_also_where_the_control_file_missed_its_close() {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.jobs(&table_of(&[("a", "2025-03-10T00:00:00Z", "2025-03-10T10:00:00Z", 1)]));
    let control = site.data().join("control.sqlite");
    let before = std::fs::read(&control).unwrap();
    site.ok(&[&["close", "2025-03"][..], &WAIVE].concat());
    std::fs::write(&control, before).unwrap();
    let file = site.file("later.csv", "price,from\n99,2025-03-05\n");
    site.run(&["rates", "import", &file]).fails(1, &["2025-03", "--force"]);
}
