//! Rows of utilization that are taken, and that are not.

use super::*;

/// Boot at the wall clock's second 1 000 000.
const OFFSET_MS: i64 = 1_000_000_000;

fn at(boot_ms: i64) -> Moment {
    Moment { wall_ms: OFFSET_MS + boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn row(pid: u32, boot_ms: i64, sm_percent: u32) -> Utilization {
    let at_us = (OFFSET_MS + boot_ms) as u64 * 1_000;
    Utilization { pid, at_us, sm_percent, memory_percent: 0, encoder_percent: 0, decoder_percent: 0 }
}

fn us(boot_ms: i64) -> u64 {
    (OFFSET_MS + boot_ms) as u64 * 1_000
}

#[test]
fn the_newest_row_is_named_next_time_and_silence_keeps_it() {
    let mut seen = LastSeen::default();
    assert_eq!(seen.ask(at(20_000)), 0);
    seen.sift(&[row(1, 19_000, 50), row(2, 19_861, 20)], at(20_000));
    assert_eq!(seen.ask(at(25_000)), us(19_861));
    seen.sift(&[], at(25_000));
    assert_eq!(seen.ask(at(30_000)), us(19_861), "never now: a sample may lie between");
}

#[test]
fn a_mean_is_taken_over_the_time_since_the_row_seen_last() {
    let mut seen = LastSeen::default();
    // nothing seen yet: the whole ring
    assert_eq!(seen.sift(&[row(1, 20_000, 50)], at(20_000)).average_ms, 10_000);
    // 5 s later
    assert_eq!(seen.sift(&[row(1, 22_000, 50)], at(25_000)).average_ms, 5_000);
    // its last sample was at 22 s, so this mean reaches back over 8 s, 3 of which the poll before has seen as idle
    assert_eq!(seen.sift(&[row(1, 30_000, 50)], at(30_000)).average_ms, 8_000);
    // the ring holds no more than 10 s
    assert_eq!(seen.sift(&[], at(90_000)).average_ms, 10_000);
}

#[test]
fn impossible_rows_are_counted_by_reason_and_never_clamped() {
    let mut seen = LastSeen::default();
    seen.sift(&[row(9, 19_900, 10)], at(20_000));
    let mut huge = row(4, 24_000, 4_000_000_000);
    huge.memory_percent = 3;
    let mut encoder = row(5, 24_000, 10);
    encoder.encoder_percent = 101;
    let rows = [
        row(0, 24_000, 10),
        row(3, 24_000, 101),
        huge,
        encoder,
        row(6, 19_900, 10), // not newer than what was seen
        row(7, 31_000, 10), // 6 s ahead
        row(8, 23_000, 30), // the older of two
        row(8, 24_000, 40),
    ];
    let sifted = seen.sift(&rows, at(25_000));
    assert_eq!(sifted.uses, [Use { pid: 8, at_us: us(24_000), percent: 40 }]);
    assert_eq!(sifted.rejects, Rejects { pid_zero: 1, above_100: 3, stale: 1, future: 1, duplicate: 1 });
    assert_eq!(sifted.rejects.total(), 7);
}

#[test]
fn without_a_row_seen_before_a_row_older_than_the_ring_is_stale() {
    // C02: it stopped computing five minutes ago
    let sifted = LastSeen::default().sift(&[row(5, 700_000, 80)], at(1_000_000));
    assert_eq!((sifted.uses.len(), sifted.rejects.stale), (0, 1));
}

#[test]
fn a_first_silence_is_a_beginning() {
    let mut seen = LastSeen::default();
    seen.sift(&[], at(20_000));
    assert_eq!(seen.ask(at(25_000)), us(19_000));
    // 5 s, and the second before that was silent
    assert_eq!(seen.sift(&[row(1, 24_900, 50)], at(25_000)).average_ms, 6_000);
}

#[test]
fn a_wall_clock_put_back_does_not_stop_the_reading() {
    let mut seen = LastSeen::default();
    seen.sift(&[row(1, 100_000, 50)], at(100_000));
    // 20 minutes back: boot clock goes on
    let after = Moment { wall_ms: OFFSET_MS + 105_000 - 1_200_000, ..at(105_000) };
    let asked = seen.ask(after);
    assert_eq!(asked, after.wall_ms as u64 * 1_000 - 1_000_000, "now less a second");
    let fresh = Utilization { at_us: after.wall_ms as u64 * 1_000 - 100_000, ..row(1, 0, 50) };
    let sifted = seen.sift(&[fresh], after);
    assert_eq!(sifted.uses.len(), 1);
    assert_eq!(sifted.from_boot_ms(100_000, after), 104_000, "only the last second is covered");
    assert_eq!(seen.ask(after), fresh.at_us);
}
