//! Only whole frames are believed.

use super::*;
use crate::node::spool::tests::rows::tick;

fn frames(seqs: &[i64]) -> Vec<Vec<u8>> {
    seqs.iter().map(|seq| encode(&tick(*seq)).unwrap()).collect()
}

/// What a reader makes of some bytes: the ticks by number, how far it got, and what it found there.
fn read(bytes: &[u8]) -> (Vec<i64>, usize, Tail) {
    let scan = scan(bytes);
    (scan.ticks.iter().map(|t| t.key().unwrap().seq).collect(), scan.good_bytes, scan.tail)
}

#[test]
fn frames_read_back() {
    let all = frames(&[1, 2, 3]);
    let bytes = all.concat();
    assert_eq!(read(&bytes), (vec![1, 2, 3], bytes.len(), Tail::None));
    assert_eq!(scan(&bytes).ticks[1], tick(2));
    assert_eq!(read(&[]), (vec![], 0, Tail::None));
}

#[test]
fn a_frame_is_its_length_its_checksum_and_json_with_a_version() {
    let frame = encode(&Tick::default()).unwrap();
    let payload = br#"{"version":1,"tick":{"devices":[],"minutes":[],"processes":[],"readings":[]}}"#;
    assert_eq!(frame[8..], payload[..]);
    assert_eq!(frame[..4], [77, 0, 0, 0]);
    assert_eq!(frame[4..8], crc32c::crc32c(payload).to_le_bytes());
}

#[test]
fn torn_at_any_byte_the_frames_before_are_read() {
    let all = frames(&[1, 2]);
    let whole = all.concat();
    let first = all[0].len();
    for cut in first + 1..whole.len() {
        assert_eq!(read(&whole[..cut]), (vec![1], first, Tail::Torn), "cut at {cut}");
        // the file was made longer and its pages were not written: zeros to the end
        let mut zeroed = whole[..cut].to_vec();
        zeroed.resize(whole.len(), 0);
        if zeroed != whole {
            assert_eq!(read(&zeroed), (vec![1], first, Tail::Torn), "zeros from {cut}");
        }
    }
}

#[test]
fn zeros_are_no_frames() {
    // a length of 0 and a checksum of 0 agree with each other
    assert_eq!(crc32c::crc32c(&[]), 0);
    let first = &frames(&[1])[0];
    for zeros in [1, 8, 4096] {
        let bytes = [first.clone(), vec![0; zeros]].concat();
        assert_eq!(read(&bytes), (vec![1], first.len(), Tail::Torn));
    }
}

#[test]
fn a_flipped_bit_anywhere_stops_the_reader_and_is_told_from_a_torn_end() {
    let all = frames(&[1, 2, 3]);
    let (first, second) = (all[0].len(), all[1].len());
    // a bit of every byte of the middle frame, its header too
    for at in first..first + second {
        let mut bytes = all.concat();
        bytes[at] ^= 1 << (at % 8);
        assert_eq!(read(&bytes), (vec![1], first, Tail::Damaged), "byte {at}");
    }
}

#[test]
fn a_zeroed_page_in_the_middle_is_damage() {
    let all = frames(&[1, 2, 3]);
    let mut bytes = all.concat();
    bytes[all[0].len()..all[0].len() + all[1].len()].fill(0);
    assert_eq!(read(&bytes), (vec![1], all[0].len(), Tail::Damaged));
}

#[test]
fn a_payload_of_another_version_is_kept_not_guessed_at() {
    let payload = br#"{"version":2,"tick":{"devices":[],"minutes":[],"processes":[],"readings":[]}}"#;
    let mut bytes = 77u32.to_le_bytes().to_vec();
    bytes.extend(crc32c::crc32c(payload).to_le_bytes());
    bytes.extend(payload);
    assert_eq!(read(&bytes), (vec![], 0, Tail::Damaged));
}

#[test]
fn random_frames_torn_and_damaged_at_random_never_give_a_row_that_was_not_written() {
    // a fixed walk over lengths, cuts and flips: xorshift
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    for _ in 0..300 {
        let seqs: Vec<i64> = (0..1 + next(5) as i64).collect();
        let all = frames(&seqs);
        let mut bytes = all.concat();
        let at = next(bytes.len());
        match next(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 + next(255) as u8,
            _ => bytes.insert(at, next(256) as u8),
        }
        let ends: Vec<usize> = all
            .iter()
            .scan(0, |end, f| {
                *end += f.len();
                Some(*end)
            })
            .collect();
        let whole = ends.iter().filter(|end| **end <= at).count();
        let (read, good_bytes, _) = read(&bytes);
        // an inserted byte may by chance equal the next one, which only moves the damage on
        assert!(read.len() >= whole && read == seqs[..read.len()], "{read:?} of {whole}");
        assert!(good_bytes >= ends[..whole].last().copied().unwrap_or(0));
    }
}
