//! What is written from looks that are told.

use super::*;
use crate::cluster::told::{self, MINUTE, Told, run_id};

/// A memory and all rows that were written from it.
struct Writer {
    memory: Memory,
    written: Vec<Change>,
}

impl Writer {
    fn new() -> Self {
        Self { memory: Memory::new("slurm", "c", 0), written: Vec::new() }
    }

    fn look(&mut self, minute: i64, told: Told) -> &Change {
        self.take(minute, Ok(told.snapshot(minute)))
    }

    fn take(&mut self, minute: i64, look: Result<Snapshot, LookError>) -> &Change {
        let change = self.memory.change(minute * MINUTE, look);
        self.memory.apply(&change);
        self.written.push(change);
        self.written.last().unwrap()
    }
}

fn counts(change: &Change) -> [usize; 5] {
    [change.jobs.len(), change.allocations.len(), change.holdings.len(), change.nodes.len(), change.offers.len()]
}

#[test]
fn what_does_not_change_is_written_once() {
    let mut w = Writer::new();
    let told = || Told::new().waiting("1").running("2", 5, 2).node("n1", "up");
    assert_eq!(counts(w.look(10, told())), [2, 1, 2, 1, 1]);
    for minute in 11..20 {
        let change = w.look(minute, told());
        assert_eq!(counts(change), [0; 5]);
        assert_eq!(change.readings.len(), 1);
        let reading = &change.readings[0];
        assert_eq!((reading.ok, reading.from_ms, reading.to_ms), (true, (minute - 1) * MINUTE, minute * MINUTE));
        assert_eq!((reading.kind.as_str(), reading.source.as_str()), ("scheduler", "slurm:0"));
    }
    let first = &w.written[0];
    assert_eq!((first.allocations[0].source.as_str(), first.allocations[0].as_of_ms), ("slurm:0", 10 * MINUTE));
    assert_eq!(first.readings[0].from_ms, 10 * MINUTE, "the first look speaks of no time before it");
}

#[test]
fn priority_alone_is_no_change_and_a_reason_is_one() {
    let mut w = Writer::new();
    w.look(1, Told::new().waiting("1"));
    let mut snapshot = Told::new().waiting("1").snapshot(2);
    snapshot.jobs[0].priority = Some(99);
    assert_eq!(counts(w.take(2, Ok(snapshot.clone()))), [0; 5]);
    snapshot.as_of_ms = 3 * MINUTE;
    snapshot.jobs[0].pending_reason = Some("Resources".to_owned());
    assert_eq!(counts(w.take(3, Ok(snapshot))), [1, 0, 0, 0, 0]);
}

#[test]
fn a_failed_look_is_a_failed_reading_and_nothing_else() {
    let mut w = Writer::new();
    let told = || Told::new().running("2", 1, 1).node("n1", "up");
    w.look(2, told());
    let change = w.take(3, Err(LookError::new("scontrol: hangs"))).clone();
    assert_eq!(counts(&change), [0; 5]);
    let reading = &change.readings[0];
    assert_eq!((reading.ok, reading.error.as_deref()), (false, Some("scontrol: hangs")));
    assert_eq!((reading.from_ms, reading.to_ms), (2 * MINUTE, 3 * MINUTE));
    // after the outage nothing is new, and the reading spans it
    let change = w.look(9, told());
    assert_eq!(counts(change), [0; 5]);
    assert_eq!((change.readings[0].from_ms, change.readings[0].to_ms), (2 * MINUTE, 9 * MINUTE));
}

#[test]
fn a_sudden_empty_answer_is_not_believed() {
    let mut w = Writer::new();
    w.look(2, Told::new().running("2", 1, 1).node("n1", "up"));
    let change = w.look(3, Told::new().node("n1", "up"));
    assert!(!change.readings[0].ok);
    let why = change.readings[0].error.clone().unwrap();
    assert!(why.contains("1 runs were running at the last look and nothing says that they ended"), "{why}");
    // the same, explained
    let change = w.look(4, Told::new().ended("2", 1, 3, "COMPLETED").node("n1", "up"));
    assert!(change.readings[0].ok);
    assert_eq!(counts(change), [1, 1, 0, 0, 0]);
    // and empty from then on is the truth
    assert!(w.look(5, Told::new().node("n1", "up")).readings[0].ok);
    let change = w.look(6, Told::new());
    assert!(change.readings[0].error.as_deref().unwrap().contains("shows no node"));
}

#[test]
fn a_run_that_vanishes_is_last_seen_and_its_end_comes_later() {
    let mut w = Writer::new();
    w.look(2, Told::new().running("2", 1, 1).running("3", 1, 1));
    w.look(3, Told::new().running("2", 1, 1).running("3", 1, 1));
    let change = w.look(9, Told::new().running("3", 1, 1));
    assert_eq!(counts(change), [0, 1, 0, 0, 0]);
    let row = &change.allocations[0];
    assert_eq!((row.job_raw.as_str(), row.state.as_str(), row.terminal), ("2", "RUNNING", false));
    assert_eq!((row.last_seen_ms, row.as_of_ms, row.end_ms), (Some(3 * MINUTE), 9 * MINUTE, None));
    assert_eq!(counts(w.look(10, Told::new().running("3", 1, 1))), [0; 5]);
    // accounting says how it ended: no second holding beside the one that was written
    let change = w.look(11, Told::new().running("3", 1, 1).ended("2", 1, 4, "NODE_FAIL"));
    assert_eq!(counts(change), [1, 1, 0, 0, 0]);
    assert_eq!((change.allocations[0].terminal, change.allocations[0].end_ms), (true, Some(4 * MINUTE)));
    assert_eq!(counts(w.look(12, Told::new().running("3", 1, 1).ended("2", 1, 4, "NODE_FAIL"))), [0; 5]);
}

#[test]
fn a_run_that_comes_back_after_it_vanished_counts_on() {
    let mut w = Writer::new();
    w.look(2, Told::new().running("2", 1, 1).running("3", 1, 1));
    w.look(3, Told::new().running("3", 1, 1));
    let change = w.look(4, Told::new().running("2", 1, 1).running("3", 1, 1));
    assert_eq!(counts(change), [1, 1, 0, 0, 0], "its holdings were never taken back");
    assert_eq!(change.allocations[0].last_seen_ms, None);
}

#[test]
fn an_empty_answer_is_believed_only_where_the_source_numbers_its_states() {
    let mut w = Writer::new();
    w.look(2, Told::new().running("2", 1, 1).node("n1", "up"));
    let empty = || Told::new().node("n1", "up").snapshot(3);
    assert!(!w.take(3, Ok(empty())).readings[0].ok);
    let numbered = Snapshot { numbered: true, ..Told::new().node("n1", "up").snapshot(4) };
    let change = w.take(4, Ok(numbered));
    assert!(change.readings[0].ok);
    assert_eq!(change.allocations[0].last_seen_ms, Some(2 * MINUTE));
}

#[test]
fn what_a_source_told_only_for_a_while_stays_told() {
    let mut w = Writer::new();
    let told = |pull: Option<i64>, minute: i64| {
        let mut snapshot = Told::new().running("2", 1, 1).snapshot(minute);
        snapshot.allocations[0].image_pull_ms = pull;
        snapshot
    };
    w.take(2, Ok(told(Some(MINUTE), 2)));
    assert_eq!(counts(w.take(3, Ok(told(None, 3)))), [0; 5], "an event that is gone is no change");
}

#[test]
fn an_incomplete_look_and_what_could_not_be_read_let_nothing_vanish() {
    let mut w = Writer::new();
    w.look(2, Told::new().waiting("1").running("2", 1, 1).running("3", 1, 1).node("n1", "up").node("n2", "up"));
    let part = Snapshot { complete: false, ..Told::new().running("3", 1, 1).node("n1", "up").snapshot(3) };
    assert_eq!(counts(w.take(3, Ok(part))), [0; 5]);
    let unread = HashSet::from(["2".to_owned(), "1".to_owned()]);
    let told = Told::new().running("3", 1, 1).node("n1", "up").node("n2", "up");
    assert_eq!(counts(w.take(4, Ok(Snapshot { unread, ..told.clone().snapshot(4) }))), [0; 5]);
    let change = w.look(5, told);
    assert_eq!(counts(change), [1, 1, 0, 0, 0]);
    assert_eq!(change.allocations[0].last_seen_ms, Some(4 * MINUTE));
    assert_eq!((change.jobs[0].state.as_str(), change.jobs[0].as_of_ms), ("ENDED", 5 * MINUTE));
}

#[test]
fn a_requeued_job_is_two_requests_and_two_runs() {
    let mut w = Writer::new();
    w.look(2, Told::new().running("2", 1, 1).running("9", 1, 1));
    let change = w.look(5, Told::new().resubmitted("2", 4).ended("2", 1, 4, "REQUEUED").running("9", 1, 1));
    assert_eq!(counts(change), [2, 1, 0, 0, 0]);
    let states: BTreeSet<_> = change.jobs.iter().map(|j| (j.submit_ms / MINUTE, j.state.as_str())).collect();
    assert_eq!(states, BTreeSet::from([(0, "REQUEUED"), (4, "PENDING")]));
    assert_eq!(change.allocations[0].end_ms, Some(4 * MINUTE));
}

#[test]
fn a_waiting_array_shrinks_as_its_tasks_start() {
    let mut w = Writer::new();
    let array = |tasks: i64| {
        let mut told = Told::new().waiting("7");
        (told.jobs[0].array_job, told.jobs[0].tasks) = (Some("7".to_owned()), tasks);
        told
    };
    w.look(1, array(10));
    let change = w.look(2, array(8).running("8", 1, 1).running("9", 1, 1));
    assert_eq!(counts(change), [3, 2, 2, 0, 0]);
    let master = change.jobs.iter().find(|j| j.job_raw == "7").unwrap();
    assert_eq!((master.tasks, master.state.as_str()), (8, "PENDING"));
    // the last task takes the id of the array
    let change = w.look(3, Told::new().running("7", 3, 1).running("8", 1, 1).running("9", 1, 1));
    assert_eq!(counts(change), [1, 1, 1, 0, 0]);
}

#[test]
fn nodes_are_intervals_that_adjoin() {
    let mut w = Writer::new();
    let running = || Told::new().running("2", 1, 1);
    w.look(1, running().node("n1", "up").node("n2", "up"));
    let mut drained = running().node("n1", "drained").node("n2", "up");
    drained.nodes[0].from_ms = 2 * MINUTE + 7;
    let change = w.look(3, drained.clone());
    let shown = |c: &Change| -> Vec<(String, i64, Option<i64>)> {
        c.nodes.iter().map(|n| (n.state.clone(), n.from_ms, n.to_ms)).collect()
    };
    let at = 2 * MINUTE + 7;
    assert_eq!(shown(change), [("up".to_owned(), MINUTE, Some(at)), ("drained".to_owned(), at, None)]);
    // a reason older than the last look does not take back what that look showed
    drained.nodes[1].state = "down".to_owned();
    drained.nodes[1].from_ms = 5;
    let change = w.look(4, drained);
    let at = 3 * MINUTE;
    assert_eq!(shown(change), [("up".to_owned(), MINUTE, Some(at)), ("down".to_owned(), at, None)]);
    let change = w.look(9, running().node("n1", "up").node("n2", "up"));
    assert_eq!(change.nodes.len(), 4);
    let change = w.look(10, running().node("n1", "up"));
    assert_eq!(shown(change), [("up".to_owned(), 9 * MINUTE, Some(9 * MINUTE))]);
    assert_eq!((change.offers.len(), change.offers[0].count, change.offers[0].allocatable), (1, 0, Some(0)));
}

#[test]
fn a_holding_that_is_let_go_ends_with_the_look() {
    let mut w = Writer::new();
    w.look(1, Told::new().running("2", 1, 3));
    let change = w.look(2, Told::new().running("2", 1, 2));
    assert_eq!(counts(change), [0, 1, 1, 0, 0], "the run has fewer GPUs, too");
    assert_eq!((change.holdings[0].to_ms, change.holdings[0].gres_index), (Some(2 * MINUTE), Some(2)));
    assert_eq!(counts(w.look(3, Told::new().running("2", 1, 2))), [0; 5]);
}

#[test]
fn of_a_run_shown_running_and_over_the_end_counts_once() {
    let mut w = Writer::new();
    let both = Told::new().running("2", 1, 1).ended("2", 1, 2, "COMPLETED").waiting("5");
    let change = w.look(3, both);
    assert_eq!(change.allocations.len(), 1);
    assert!(change.allocations[0].terminal);
    assert!(w.memory.before().done.contains(&run_id("2", 1)));
}

#[test]
fn a_clock_that_was_put_back_makes_a_failed_look() {
    let mut w = Writer::new();
    w.look(5, Told::new().waiting("1"));
    let change = w.look(5, Told::new().waiting("1"));
    assert!(change.readings[0].error.as_deref().unwrap().contains("clock was put back"));
    assert_eq!(change.readings[0].from_ms, change.readings[0].to_ms);
}

#[test]
fn parts_that_failed_are_told_and_refusals_written_once() {
    let mut w = Writer::new();
    let with = |minute| {
        let mut snapshot = Told::new().waiting("1").snapshot(minute);
        snapshot.failed.push(("accounting", LookError::new("sacct: away")));
        snapshot.refused.push(told::refusal(7));
        snapshot
    };
    let change = w.take(1, Ok(with(1)));
    let shown: Vec<_> = change.readings.iter().map(|r| (r.source.as_str(), r.ok)).collect();
    assert_eq!(shown, [("slurm:0", true), ("slurm:0 accounting", false)]);
    assert_eq!(change.readings[0].error.as_deref(), Some("1 records were refused"));
    assert_eq!(change.refused.len(), 1);
    assert_eq!(w.take(2, Ok(with(2))).refused.len(), 0);
    assert_eq!(w.memory.before().accounted_ms, None);
}

#[test]
fn what_is_over_is_forgotten_only_when_no_look_can_show_it_again() {
    let mut w = Writer::new();
    let told = || Told::new().waiting("1").ended("2", 1, 2, "COMPLETED");
    let hour = 60;
    assert_eq!(counts(w.look(hour, told().accounted())), [2, 1, 1, 0, 0]);
    // accounting is away for a day: what it will show again is kept
    w.look(25 * hour, Told::new().waiting("1"));
    assert_eq!(counts(w.look(26 * hour, told().accounted())), [0; 5]);
    w.look(40 * hour, Told::new().waiting("1").accounted());
    assert!(w.memory.before().done.is_empty());
}
