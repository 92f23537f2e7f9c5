//! What may not go into the lake: files in the inbox that are cut, foreign, changed or half of a pair.

use gpuledger_collector::segment::{Segment, hash_of, pair, segment};
use gpuledger_schema::table::{JobRow, NodeStateRow, ReadingRow};

use crate::case_collector::{Node, put};
use crate::case_time::table_of;
use crate::site::{PLAIN_MAP, Site};

const HOUR: [(&str, &str, &str, u32); 1] = [("a", "2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", 1)];

/// A job table whose segments wait in the inbox.
fn waiting() -> Site {
    let site = Site::new();
    let (map, file) = (site.file("plain.toml", PLAIN_MAP), site.file("jobs.csv", table_of(&HOUR)));
    let told = site.ok(&["import", "jobs", "--cluster", "alpha", "--map", &map, "--no-ingest", &file]);
    assert!(told.contains("left in the inbox"), "{told}");
    site
}

fn inbox(site: &Site) -> Vec<String> {
    let folder = std::fs::read_dir(site.data().join("inbox"));
    let mut names: Vec<String> =
        folder.map(|f| f.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()).unwrap_or_default();
    names.sort();
    names
}

fn held(site: &Site) -> String {
    let usage = site.table(&["report", "usage", "--month", "2026-03", "--zone", "UTC"]);
    if usage.rows.is_empty() { "none".to_owned() } else { usage.one("held_hours").to_owned() }
}

/// Junk of every kind beside good segments: the good ones go in, each bad one lies in quarantine with its reason.
#[test]
fn cut_and_foreign_files_are_set_aside_with_their_reason() {
    let site = waiting();
    let good = inbox(&site);
    assert_eq!(good.len(), 4, "job, allocation, allocation_device, reading: {good:?}");
    let whole = std::fs::read(site.data().join("inbox").join(&good[0])).unwrap();
    let cut = &whole[..whole.len() * 6 / 10];
    // another program's Parquet file, whole and well named
    let other = Site::new();
    other.jobs(&table_of(&HOUR));
    let foreign = other.command(&["sql", "SELECT 1 AS apples, 'x' AS pears", "--format", "parquet"]).output().unwrap();
    let named = |table: &str, bytes: &[u8]| format!("{table}~w~{}.parquet", hash_of(bytes));
    let junk = b"PAR1 this is no parquet PAR1";
    let files = [
        ("foo.parquet".to_owned(), &junk[..], "the file name is not a segment's"),
        (named("job", junk), &junk[..], "not a whole Parquet file"),
        (named("reading", b""), &b""[..], "not a whole Parquet file"),
        (named("apple", junk), &junk[..], "there is no observed table `apple`"),
        (named("usage", &whole), &whole[..], "there is no observed table `usage`"),
        (named("job", cut), cut, "not a whole Parquet file"),
        (good[0].replace("alpha", "beta"), cut, "do not have the hash in its name"),
        (named("job", &foreign.stdout), &foreign.stdout, "column `apples` is unknown to this version"),
    ];
    for (name, bytes, _) in &files {
        std::fs::write(site.data().join("inbox").join(name), bytes).unwrap();
    }
    let done = site.run(&["ingest"]);
    assert!(done.out.contains("ingested 4 segments: 4 rows new"), "{done:#?}");
    for (name, bytes, reason) in files {
        done.fails(3, &[&format!("quarantined: {name}: ")]);
        let line = done.err.lines().find(|l| l.contains(&name)).unwrap();
        assert!(line.contains(reason), "{line}");
        let kept = site.data().join("quarantine").join(&name);
        assert_eq!(std::fs::read(&kept).unwrap(), bytes, "nothing is lost");
        let why = std::fs::read_to_string(format!("{}.reason.json", kept.display())).unwrap();
        assert!(why.contains(reason), "{why}");
    }
    assert_eq!((held(&site).as_str(), inbox(&site).len()), ("1.0000", 0));
    assert!(site.ok(&["ingest"]).contains("ingested 0 segments"), "and they are not tried again");
}

/// What is being written, and what lies in folders of folders, is not looked at.
#[test]
fn unfinished_files_and_folders_in_the_inbox_are_left_alone() {
    let site = waiting();
    let place = site.data().join("inbox");
    std::fs::write(place.join(".hidden"), b"x").unwrap();
    std::fs::write(place.join("job~w~0.parquet.tmp"), b"x").unwrap();
    std::fs::create_dir_all(place.join("n1/folder")).unwrap();
    std::fs::write(place.join("n1/device~n1~0.parquet.tmp"), b"x").unwrap();
    std::fs::write(place.join("n1/folder/inside.parquet"), b"x").unwrap();
    site.ok(&["ingest"]);
    assert_eq!(held(&site), "1.0000");
    assert!(inbox(&site).contains(&"job~w~0.parquet.tmp".to_owned()));
}

/// A segment whose bytes were changed after it was named is not what was sent.
#[test]
fn a_changed_segment_is_set_aside_and_can_be_sent_again() {
    let site = waiting();
    let name = inbox(&site).into_iter().find(|n| n.starts_with("allocation~")).unwrap();
    let path = site.data().join("inbox").join(&name);
    let bytes = std::fs::read(&path).unwrap();
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    std::fs::write(&path, changed).unwrap();
    site.run(&["ingest"]).fails(3, &[&name, "do not have the hash in its name"]);
    assert_eq!(held(&site), "none");
    std::fs::write(&path, bytes).unwrap();
    site.ok(&["ingest"]);
    assert_eq!(held(&site), "1.0000");
}

/// A device file speaks for its process rows, so it waits until they are there.
#[test]
fn a_device_file_waits_for_its_process_file() {
    let node = Node::bare("n1", "GPU-0");
    let ticks: Vec<_> = (0..60).map(|m| (m, node.noon_ms() + m * 60_000)).collect();
    let pair = pair("n1", &node.processes(&ticks, 60_000), &node.minutes(&ticks, 1)).unwrap();
    let site = Site::new();
    put(&site, &node.facts());
    put(&site, &pair[1..]);
    let done = site.run(&["ingest"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.err.contains("waiting for its process file: device_minute~n1~"), "{done:#?}");
    assert_eq!(site.sql("SELECT count(*) AS n FROM device_minute").one("n"), "0");
    put(&site, &pair[..1]);
    assert_eq!(site.run(&["ingest"]).err, "");
    assert_eq!(site.sql("SELECT count(*) AS n FROM device_minute").one("n"), "60");
    assert_eq!(held(&site), "1.0000");
}

/// Two segments that say different things under one key: the first stays, the other is named.
#[test]
fn rows_in_conflict_are_kept_aside() {
    let row = |user: &str| JobRow {
        job_id: 7,
        cluster: "alpha".into(),
        job_raw: "7".into(),
        submit_ms: 1_772_409_600_000,
        eligible_ms: None,
        het_leader: None,
        array_job: None,
        array_task: None,
        tasks: 1,
        state: "PENDING".into(),
        user: Some(user.into()),
        account: None,
        queue: None,
        qos: None,
        name: None,
        labels: None,
        workload_kind: None,
        priority: None,
        reservation: None,
        comment: None,
        req_gpu_units: None,
        req_model: None,
        req_mem_bytes: None,
        req_gpu_mem_bytes: None,
        req_cpus: None,
        req_nodes: None,
        time_limit_ms: None,
        pending_reason: None,
        workload_uid: None,
        workload_name: None,
        workload_replicas: None,
        priority_class: None,
        limit_cpus_milli: None,
        limit_mem_bytes: None,
        gone_ms: None,
        source: "s".into(),
        as_of_ms: 1_772_409_600_000,
    };
    let site = Site::new();
    put(&site, &[segment("w", &[row("ann")]).unwrap().unwrap()]);
    site.ok(&["ingest"]);
    put(&site, &[segment("w", &[row("ann")]).unwrap().unwrap()]);
    assert!(site.ok(&["ingest"]).contains("0 rows new, 1 there already"));
    put(&site, &[segment("w", &[row("bob")]).unwrap().unwrap()]);
    site.run(&["ingest"]).fails(3, &["job: another row with the same key (job_id, as_of_ms)"]);
    assert_eq!(site.sql("SELECT \"user\" FROM job").one("user"), "ann");
    assert!(site.sql("SELECT raw FROM quarantine").one("raw").contains("user=bob"), "kept with its text");
}

/// A node delivers into its own folder and speaks of itself only: not for another node, not of another's cards, not of
/// jobs. What it may say goes in.
#[test]
fn a_node_speaks_only_for_itself() {
    let site = Site::new();
    let ticks = |node: &Node| (0..60).map(|m| (m, node.noon_ms() + m * 60_000)).collect::<Vec<_>>();
    let minutes = |by: &str, of: &Node| pair(by, &[], &of.minutes(&ticks(of), 0)).unwrap();
    let deliver = |folder: &str, segments: &[Segment]| {
        let place = site.data().join("inbox").join(folder);
        std::fs::create_dir_all(&place).unwrap();
        for s in segments {
            std::fs::write(place.join(s.name.file_name()), &s.bytes).unwrap();
        }
    };
    let (one, two) = (Node::bare("n1", "GPU-1"), Node::bare("n2", "GPU-2"));
    deliver("n1", &one.facts());
    deliver("n1", &minutes("n1", &one));
    deliver("n2", &two.facts());
    site.ok(&["ingest"]);
    assert_eq!(site.sql("SELECT count(*) AS n FROM device_minute").one("n"), "60");

    deliver("n2", &one.facts());
    site.run(&["ingest"]).fails(3, &["in the folder of node `n2` and speaks of `n1`"]);
    deliver("n2", &minutes("n2", &one));
    site.run(&["ingest"]).fails(3, &["in the folder of node `n2` and speaks of `n1`"]);
    let reading = ReadingRow {
        source: "x".into(),
        kind: "node".into(),
        cluster: "bare".into(),
        node: Some("n1".into()),
        read_at_ms: 1,
        from_ms: 0,
        to_ms: 1,
        ok: true,
        rows: 0,
        error: None,
    };
    deliver("n2", &[segment("n2", &[reading]).unwrap().unwrap()]);
    site.run(&["ingest"]).fails(3, &["in the folder of node `n2` and speaks of `n1`"]);
    let state = NodeStateRow {
        cluster: "bare".into(),
        node: "n2".into(),
        from_ms: 0,
        to_ms: Some(1),
        state: "up".into(),
        reason: None,
        source: "n2".into(),
        as_of_ms: 1,
    };
    deliver("n2", &[segment("n2", &[state]).unwrap().unwrap()]);
    site.run(&["ingest"]).fails(3, &["a node does not write `node_state`"]);
    assert_eq!(site.sql("SELECT count(*) AS n FROM device_minute").one("n"), "60");
    assert_eq!(site.sql("SELECT count(*) AS n FROM device").one("n"), "2");
}
