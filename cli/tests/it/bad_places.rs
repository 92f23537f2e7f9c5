//! Places and settings that do not work: folders, empty files, unknown keys, a full disk, a folder that cannot be
//! written, a second writer.

use std::fs::File;
use std::process::Command;

use crate::case_time::table_of;
use crate::site::{Done, PLAIN_MAP, Site, done};

const MARCH: [&str; 4] = ["--month", "2026-03", "--zone", "UTC"];

/// A place with an hour of one GPU in its lake, and a report that was made of it.
fn one_hour() -> (Site, String) {
    let site = Site::new();
    site.reference("rates", "price,currency\n10,EUR\n");
    site.jobs(&table_of(&[("a", "2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", 1)]));
    let report = charge(&site);
    (site, report)
}

fn charge(site: &Site) -> String {
    site.ok(&[&["report", "charge"][..], &MARCH].concat())
}

/// Another hour, in a file of its own.
fn import_more(site: &Site) -> Vec<String> {
    let map = site.file("plain.toml", PLAIN_MAP);
    let csv = "id,account,start,end,gpus\n9,b,2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,1\n";
    let file = site.file("more.csv", csv);
    ["import", "jobs", "--cluster", "alpha", "--map", &map, &file].map(str::to_owned).into()
}

fn run(site: &Site, args: &[String]) -> Done {
    site.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn what_is_no_input_file() {
    let site = Site::new();
    let map = site.file("plain.toml", PLAIN_MAP);
    let (folder, empty) = (site.beside(""), site.file("empty.csv", ""));
    let missing = site.beside("missing.csv");
    for (path, says) in [
        (folder.to_str().unwrap(), "is a folder: name the files in it"),
        (empty.as_str(), "empty.csv` is empty"),
        (missing.to_str().unwrap(), "missing.csv` does not exist"),
    ] {
        site.run(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", path]).fails(1, &[says]);
        site.run(&["import", "jobs", "--cluster", "alpha", "--map", &map, path]).fails(1, &[says]);
        site.run(&["import", "sonar", path]).fails(1, &[says]);
        site.run(&["rates", "import", path, "--zone", "UTC"]).fails(1, &[says]);
    }
    site.run_with(&["import", "sonar", "-"], b"").fails(1, &["`stdin` is empty"]);
    // one that cannot be read among good ones: nothing is taken, so that it can be typed again
    let good = site.file("jobs.csv", table_of(&[("a", "2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", 1)]));
    site.run(&["import", "jobs", "--cluster", "alpha", "--map", &map, &good, &empty])
        .fails(1, &["empty.csv` is empty"]);
    assert!(!site.data().join("tables").exists());
}

#[test]
fn configuration_with_an_unknown_key_or_value() {
    let (site, _) = one_hour();
    for (text, says) in [
        ("bilingzone = \"UTC\"\n", vec!["bad.toml", "unknown field `bilingzone`", "billing_zone"]),
        ("currency = 5\n", vec!["bad.toml", "currency"]),
        ("currency = \"euro\"\n", vec!["`euro` is not a currency code"]),
        ("billing_zone = \"Europe/Atlantis\"\ncurrency = \"EUR\"\n", vec!["unknown time zone `Europe/Atlantis`"]),
        ("currency = \n", vec!["bad.toml"]),
        ("partitions = -1\n", vec!["bad.toml", "partitions"]),
    ] {
        let config = site.file("bad.toml", text);
        site.run(&["report", "charge", "--month", "2026-03", "--config", &config]).fails(2, &says);
    }
    let none = site.beside("none.toml");
    site.run(&["check", "--config", none.to_str().unwrap()]).fails(1, &["cannot read configuration", "none.toml"]);
}

#[test]
fn a_second_writer_is_told_to_wait_and_readers_are_not() {
    let (site, report) = one_hour();
    let more = import_more(&site);
    let lock = File::options().write(true).open(site.data().join(".writer.lock")).unwrap();
    lock.lock().unwrap();
    run(&site, &more).fails(1, &["another gpuledger is writing to", ".writer.lock"]);
    let rates = site.file("rates.csv", "price,currency,from\n11,EUR,2026-04-01\n");
    site.run(&["rates", "import", &rates, "--zone", "UTC"]).fails(1, &["another gpuledger is writing"]);
    site.run(&["ingest"]).fails(1, &["another gpuledger is writing"]);
    assert_eq!(charge(&site), report, "what is up to date can be read");
    drop(lock);
    assert_eq!(run(&site, &more).code, 0);
    assert_ne!(charge(&site), report);
}

/// The ledger is behind, and somebody writes: no old figures, no wait without end.
#[test]
fn a_report_that_must_build_while_another_writes_says_so() {
    let (site, _) = one_hour();
    assert_eq!(run(&site, &import_more(&site)).code, 0);
    let lock = File::options().write(true).open(site.data().join(".writer.lock")).unwrap();
    lock.lock().unwrap();
    let done = site.run(&[&["report", "charge"][..], &MARCH].concat());
    done.fails(1, &["the ledger is not up to date", "another gpuledger is writing"]);
    assert_eq!(done.out, "");
}

/// Runs a script in a mount namespace of its own; `None`, saying so, where this machine does not allow that.
fn in_own_mounts(test: &str, script: &str, args: &[&str]) -> Option<Done> {
    let allowed = Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|o| o.status.success());
    if !allowed {
        println!("skipped: {test}: this user may not mount anything (unshare -m)");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", script, env!("CARGO_BIN_EXE_gpuledger")]).args(args);
    Some(done(command.output().unwrap()))
}

#[test]
fn a_folder_that_cannot_be_written_can_still_be_read() {
    let (site, report) = one_hour();
    let more = import_more(&site);
    let data = site.data();
    let script = r#"
        data=$1; shift
        mount --bind "$data" "$data"
        mount -o remount,ro,bind "$data"
        "$0" --data "$data" "$@" 1>&2 && exit 1 || echo "import: $?"
        "$0" --data "$data" ingest 1>&2 && exit 1 || echo "ingest: $?"
        "$0" --data "$data" rates import "$RATES" --zone UTC 1>&2 && exit 1 || echo "rates: $?"
        "$0" --data "$data" rates list --format csv
        "$0" --data "$data" check > /dev/null && echo "check: $?"
        "$0" --data "$data" report charge --month 2026-03 --zone UTC
    "#;
    let rates = site.file("more-rates.csv", "price,currency,from\n11,EUR,2026-04-01\n");
    let script = script.replace("$RATES", &rates);
    let args: Vec<&str> = [data.to_str().unwrap()].into_iter().chain(more.iter().map(String::as_str)).collect();
    let Some(done) = in_own_mounts("a_folder_that_cannot_be_written_can_still_be_read", &script, &args) else { return };
    done.fails(0, &["cannot write to", "Read-only file system"]);
    assert!(done.out.starts_with("import: 1\ningest: 1\nrates: 1\n"), "{done:#?}");
    assert!(done.out.contains("10,EUR") && done.out.contains("check: 0") && done.out.ends_with(&report), "{done:#?}");
}

/// The disk fills up during an import: it fails by name, the lake stays as it was, and with more room it goes on.
#[test]
fn a_full_disk_stops_an_import_and_spoils_nothing() {
    let (site, report) = one_hour();
    let mut csv = "id,account,start,end,gpus\n".to_owned();
    for n in 0..20_000_u64 {
        let text = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        csv.push_str(&format!("{n},{text:x},2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,0\n"));
    }
    csv.push_str("last,b,2026-03-02T11:00:00Z,2026-03-02T12:00:00Z,1\n");
    let (map, file) = (site.file("plain.toml", PLAIN_MAP), site.file("many.csv", csv));
    let small = site.beside("small");
    std::fs::create_dir(&small).unwrap();
    let script = r#"
        from=$1 small=$2 map=$3 file=$4
        size=$(du -sk "$from" | cut -f1)
        mount -t tmpfs -o "size=$((size + ROOM))k" tmpfs "$small"
        cp -a "$from" "$small/data"
        import() { "$0" --data "$small/data" import jobs --cluster alpha --map "$map" "$file"; }
        report() { "$0" --data "$small/data" report charge --month 2026-03 --zone UTC; }
        import 1>&2 && exit 1 || echo "import: $?"
        report > "$small/../after.txt" || echo "report: $?"
        mount -o remount,size=256m "$small"
        report > "$small/../roomy.txt"
        import
        report > "$small/../done.txt"
        "$0" --data "$small/data" check > /dev/null && echo "check: $?"
    "#;
    let data = site.data();
    let args = [data.to_str().unwrap(), small.to_str().unwrap(), &map, &file];
    // from hardly room for a segment to almost room for all tables
    for room in ["64", "700", "1500"] {
        let script = script.replace("ROOM", room);
        let Some(done) = in_own_mounts("a_full_disk_stops_an_import_and_spoils_nothing", &script, &args) else {
            return;
        };
        done.fails(0, &["No space left on device"]);
        if room == "1500" {
            assert!(done.err.contains("cannot append to table"), "the last room is for the inbox: {}", done.err);
        }
        let text = |name: &str| std::fs::read_to_string(site.beside(name)).unwrap();
        assert!(done.out.starts_with("import: 1\n"), "{room}: {done:#?}");
        assert!(done.out.contains("check: 0"), "{room}: {done:#?}");
        assert!(
            text("roomy.txt").contains("10.00 EUR") || text("roomy.txt").contains("20.00 EUR"),
            "{}",
            text("roomy.txt")
        );
        assert!(text("done.txt").contains("2.0 GPU-hours held cost 20.00 EUR"), "{room}: {}", text("done.txt"));
        if room == "64" {
            assert_eq!(text("roomy.txt"), report, "nothing had gone in");
        }
    }
}
