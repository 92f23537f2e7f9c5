//! A thread that works, hangs or panics.

use std::sync::mpsc;

use super::*;

/// Long enough for a thread that answers, short enough for one that never will.
const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_stuck_thread_gets_no_second_order_and_its_late_answer_is_thrown_away() {
    let (release, gate) = mpsc::channel::<()>();
    let mut worker = Worker::start("hangs on 1", move |order: u32| {
        if order == 1 {
            let _ = gate.recv();
        }
        order * 10
    })
    .unwrap();

    assert!(worker.order(1));
    assert_eq!(worker.answer(SHORT), Waited::Late);
    assert!(worker.is_stuck());
    assert!(!worker.order(2), "one stuck thread is enough");

    release.send(()).unwrap();
    while worker.is_stuck() {
        std::thread::yield_now();
    }
    assert!(worker.order(3));
    assert_eq!(worker.answer(LONG), Waited::Answer(30), "the answer to 1 came too late for everybody");
}

#[test]
fn one_that_hangs_does_not_keep_others_from_answering() {
    let (_release, gate) = mpsc::channel::<()>();
    let mut hangs = Worker::start("hangs", move |(): ()| gate.recv().is_ok()).unwrap();
    let mut works = Worker::start("works", |(): ()| true).unwrap();
    assert!(hangs.order(()) && works.order(()));
    assert_eq!(hangs.answer(Duration::ZERO), Waited::Late);
    assert_eq!(works.answer(LONG), Waited::Answer(true));
}

#[test]
fn a_thread_that_panicked_is_neither_waited_for_nor_given_orders() {
    let mut worker = Worker::start("panics", |(): ()| -> u32 { panic!("as a broken reader would") }).unwrap();
    assert!(worker.order(()));
    assert_eq!(worker.answer(LONG), Waited::None);
    assert!(!worker.order(()));
    assert_eq!(worker.answer(LONG), Waited::None);
}
