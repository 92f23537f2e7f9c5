//! Differences of counters.

use super::*;

fn counters(cpu_ticks: u64, read_bytes: u64, io_wait_ticks: u64) -> Counters {
    Counters { cpu_ticks: Ok(cpu_ticks), read_bytes: Ok(read_bytes), io_wait_ticks: Ok(io_wait_ticks) }
}

#[test]
fn use_is_the_difference_in_milliseconds_and_bytes() {
    let got = used(Some(&counters(1_000, 4_096, 7)), &counters(7_000, 12_288, 7), 100);
    assert_eq!(got, Used { cpu_ms: Ok(60_000), read_bytes: Ok(8_192), io_wait_ms: Ok(0) });
}

#[test]
fn a_tick_whose_start_was_not_seen_has_no_use_and_not_zero() {
    let none = Err(Absent::NoEarlier);
    let got = used(None, &counters(7_000, 8_192, 7), 100);
    assert_eq!(got, Used { cpu_ms: none.clone(), read_bytes: none.clone(), io_wait_ms: none });
}

#[test]
fn each_counter_is_absent_alone_and_keeps_its_reason() {
    let now = Counters { read_bytes: Err(Absent::NotPermitted), ..counters(200, 0, 9) };
    let before = Counters { io_wait_ticks: Err(Absent::NotSupported), ..counters(100, 0, 0) };
    let got = used(Some(&before), &now, 100);
    let expected =
        Used { cpu_ms: Ok(1_000), read_bytes: Err(Absent::NotPermitted), io_wait_ms: Err(Absent::NoEarlier) };
    assert_eq!(got, expected);
}

#[test]
fn a_counter_that_went_back_is_no_use() {
    let got = used(Some(&counters(100, 100, 0)), &counters(99, 100, 0), 100);
    assert_eq!((got.cpu_ms, got.read_bytes), (Err(Absent::NoEarlier), Ok(0)));
}

#[test]
fn minutes_add_up_to_the_whole_where_a_tick_is_no_whole_millisecond() {
    // 300 ticks a second: 1, 2 and 3 ticks are 3, 6 and 10 ms
    let ms = |from, to| used(Some(&counters(from, 0, 0)), &counters(to, 0, 0), 300).cpu_ms.unwrap();
    assert_eq!((ms(0, 1), ms(1, 2), ms(2, 3)), (3, 3, 4));
    assert_eq!(ms(0, 3), 10);
}

#[test]
fn impossible_counters_are_no_use_and_no_panic() {
    assert_eq!(used(Some(&counters(0, 0, 0)), &counters(u64::MAX, u64::MAX, 1), 0).cpu_ms, Err(Absent::NoEarlier));
    assert_eq!(used(Some(&counters(0, 0, 0)), &counters(0, u64::MAX, 0), 100).read_bytes, Err(Absent::Rejected));
}
