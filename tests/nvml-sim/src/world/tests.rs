//! Exact integrals, and the ring that samples them.

use super::meter::{Meter, add_busy, gpm_percent};
use super::ring::{by_task, samples};
use super::task::{Task, on_gpu};
use crate::scenario::{Duty, MemStep, Process};

const SECOND: i64 = 1_000_000;

fn square(period_s: f64, on: f64, percent: f64) -> Duty {
    Duty::Square { period_s, on, percent }
}

fn tasks(processes: &[Process]) -> Vec<Task> {
    on_gpu(processes, 0)
}

/// Busy percent-seconds of each task over a span.
fn busy(tasks: &[Task], from_s: i64, to_s: i64) -> Vec<f64> {
    let mut busy = vec![0; tasks.len()];
    add_busy(tasks, from_s * SECOND, to_s * SECOND, &mut busy);
    busy.iter().map(|basis_points| *basis_points as f64 / 1e8).collect()
}

#[test]
fn busy_time_is_the_exact_integral_of_a_duty() {
    let wave = Process { sm: square(10.0, 0.3, 80.0), ..Process::constant(1, 0, 0.0) };
    // 3 s of every 10 s at 80 %; in 8 s..12 s: 2 s.
    assert_eq!(busy(&tasks(std::slice::from_ref(&wave)), 0, 10), [240.0]);
    assert_eq!(busy(&tasks(&[wave]), 8, 12), [160.0]);
}

#[test]
fn a_life_bounds_the_integral() {
    let short = Process { from_s: 4.0, to_s: Some(6.0), ..Process::constant(1, 0, 50.0) };
    assert_eq!(busy(&tasks(&[short]), 0, 10), [100.0]);
}

#[test]
fn an_engine_is_never_more_than_full() {
    let both = [Process::constant(1, 0, 100.0), Process::constant(2, 0, 50.0)];
    let shares = busy(&tasks(&both), 0, 3);
    // 2/3 and 1/3 of 3 s at 100 %, each cut to a whole basis point.
    assert!((shares[0] - 200.0).abs() < 0.04 && (shares[1] - 100.0).abs() < 0.04, "{shares:?}");
    assert!(shares[0] + shares[1] <= 300.0);
}

#[test]
fn instances_do_not_take_from_each_other() {
    let in_instance = |pid, gi| Process { gi: Some(gi), ..Process::constant(pid, 0, 100.0) };
    assert_eq!(busy(&tasks(&[in_instance(1, 1), in_instance(2, 2)]), 0, 1), [100.0, 100.0]);
}

#[test]
fn a_meter_read_often_says_the_same_as_one_read_once() {
    let noise = Duty::Noise { low: 10.0, high: 90.0, step_s: 0.7, seed: 3 };
    let tasks = tasks(&[Process { sm: noise, ..Process::constant(1, 0, 0.0) }]);
    let (mut often, mut once) = (Meter::new(1), Meter::new(1));
    for step in 1..=60 {
        often.advance(&tasks, step * SECOND);
    }
    assert_eq!(often.busy(), once.advance(&tasks, 60 * SECOND));
    let mean = once.busy()[0] as f64 / 60e6 / 100.0;
    assert!((40.0..60.0).contains(&mean), "{mean}");
}

#[test]
fn gpm_weighs_busy_time_by_what_it_was_spent_on() {
    let tasks = tasks(&[Process::constant(1, 0, 50.0)]);
    let metric = |id| gpm_percent(id, [(&tasks[0].engines, 50 * 100 * 60)].into_iter(), 60);
    assert_eq!(metric(1), Some(50.0));
    assert_eq!(metric(2), Some(45.0));
    assert_eq!(metric(10), Some(25.0));
    assert_eq!(metric(999), None);
}

#[test]
fn the_ring_holds_72_samples_of_ten_seconds() {
    let tasks = tasks(&[Process::constant(1, 0, 50.0)]);
    let ring = samples(&tasks, 0, 60 * SECOND, |_| true);
    assert_eq!(ring.len(), 72);
    assert_eq!(ring[71].at, 60 * SECOND);
    assert_eq!(ring[0].at, 50 * SECOND + 138_888);
    assert_eq!(samples(&tasks, 0, 60 * SECOND, |at| at > 55 * SECOND).len(), 36);
    // At the start it fills.
    assert_eq!(samples(&tasks, 0, SECOND, |_| true).len(), 7);
}

#[test]
fn a_sample_credits_one_process_with_all_of_its_load() {
    let both = tasks(&[Process::constant(1, 0, 30.0), Process::constant(2, 0, 30.0)]);
    let ring = samples(&both, 0, 60 * SECOND, |_| true);
    assert!(ring.iter().all(|sample| sample.compute.is_some_and(|credit| (5999..=6000).contains(&credit.level))));
    let seen = by_task(&ring);
    let sums: u64 = seen.iter().map(|seen| seen.compute).sum();
    assert!((72 * 5999..=72 * 6000).contains(&sums));
    assert_eq!(seen.len(), 2, "72 draws of one in two meet both");
    // The same question, the same answer.
    assert_eq!(by_task(&samples(&both, 0, 60 * SECOND, |_| true)), seen);
}

#[test]
fn memory_follows_its_steps_and_remembers_its_peak() {
    let steps = vec![MemStep { at_s: 10.0, bytes: 900 }, MemStep { at_s: 20.0, bytes: 300 }];
    let process = Process { mem_bytes: 500, mem_steps: steps, to_s: Some(30.0), ..Process::constant(1, 0, 0.0) };
    let task = &tasks(&[process])[0];
    let held: Vec<u64> = [5, 15, 25, 35].iter().map(|at| task.memory_at(at * SECOND)).collect();
    assert_eq!(held, [500, 900, 300, 0]);
    let peaks: Vec<u64> = [5, 15, 35].iter().map(|at| task.memory_peak(at * SECOND)).collect();
    assert_eq!(peaks, [500, 900, 900]);
}

#[test]
fn repeats_come_one_after_the_other_with_the_next_pids() {
    let repeat = crate::scenario::Repeat { count: 3, every_s: 2.0, pid_step: 5 };
    let process = Process { to_s: Some(1.0), repeat: Some(repeat), ..Process::constant(100, 0, 10.0) };
    let tasks = tasks(&[process]);
    let lives: Vec<_> = tasks.iter().map(|task| (task.pid, task.life.0 / SECOND, task.life.1 / SECOND)).collect();
    assert_eq!(lives, [(Some(100), 0, 1), (Some(105), 2, 3), (Some(110), 4, 5)]);
}
