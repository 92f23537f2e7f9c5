//! Limits of a machine: few open files, little memory (C35). Totals are whole, or there are none.

use std::process::{Command, Stdio};

use crate::case_collector::{Node, put};
use crate::site::{Done, Site, done};

const MINUTE_MS: i64 = 60_000;
/// Nodes of the fleet, and minute files of each.
const NODES: [&str; 6] = ["n0", "n1", "n2", "n3", "n4", "n5"];
const FILES: i64 = 60;

/// A fleet whose collectors sealed every minute on its own.
fn many_files() -> Site {
    let site = Site::new();
    for name in NODES {
        let node = Node::bare(name, name);
        put(&site, &node.facts());
        for minute in 0..FILES {
            let tick = [(minute, node.noon_ms() + minute * MINUTE_MS)];
            let pair =
                gpuledger_collector::segment::pair(name, &node.processes(&tick, 30_000), &node.minutes(&tick, 1));
            put(&site, &pair.unwrap());
        }
    }
    site
}

/// The command below a limit of the shell's `ulimit`.
fn limited(site: &Site, limit: &str, args: &[&str]) -> Done {
    let plain = site.command(args);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")])
        .arg(plain.get_program())
        .args(plain.get_args());
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    done(piped.spawn().unwrap().wait_with_output().unwrap())
}

const USAGE: [&str; 9] =
    ["report", "usage", "--month", "2026-03", "--zone", "UTC", "--by", "node,user", "--format=csv"];

/// 720 minute files of six nodes: with few open files and with little memory the answer is the same, or the command fails and
/// says so; what it left behind when it failed spoils no later answer.
#[test]
fn c35_few_files_and_little_memory_give_the_whole_answer_or_none() {
    let site = many_files();
    let free = many_files();
    free.ok(&["ingest"]);
    let wanted = free.ok(&USAGE);
    assert_eq!(wanted.lines().count(), NODES.len() + 1, "{wanted}");
    assert!(wanted.contains("0.5000"), "busy for half an hour each: {wanted}");

    let mut failed = 0;
    // a process that cannot have its memory is ended by the system or ends itself: nothing of it may count by half
    for limit in ["-v 60000", "-v 400000", "-d 40000", "-d 120000", "-n 24"] {
        let done = limited(&site, limit, &["ingest"]);
        failed += usize::from(done.code != 0);
        assert!(done.code == 0 || !done.err.is_empty() || done.code == -1, "it says why: {limit} {done:#?}");
        let done = limited(&site, limit, &USAGE);
        assert!(done.code != 0 || done.out == wanted, "{limit}: a part of the answer: {done:#?}");
        assert!(done.code == 0 || done.out.is_empty(), "{limit}: half an answer: {done:#?}");
    }
    assert!(failed > 0, "a limit that stops nothing proves nothing");
    let done = limited(&site, "-n 128", &["ingest"]);
    assert_eq!(done.code, 0, "128 open files are enough for any number of segments: {done:#?}");
    assert_eq!(limited(&site, "-n 128", &USAGE).out, wanted);
    assert_eq!(site.ok(&USAGE), wanted);
    assert!(site.ok(&["check", "--zone", "UTC"]).lines().all(|l| !l.contains("VIOLATED")));
}
