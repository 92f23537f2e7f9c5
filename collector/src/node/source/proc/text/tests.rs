//! Texts of `/proc` as the kernel writes them, cut, and garbled.

use super::*;

const STAT: &str = "4242 (py (a) b) R 1 4000 4000 34816 4242 4194304 1 2 3 4 500 70 0 0 20 0 3 0 123456 1000000 25 \
                    18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 9 0 0 1 1 1 1 1 1 1 0\n";

#[test]
fn a_stat_is_read_past_a_command_with_parentheses() {
    let stat = stat(STAT).unwrap();
    assert_eq!((stat.comm.as_str(), stat.state, stat.session), ("py (a) b", 'R', 4000));
    assert_eq!((stat.utime, stat.stime, stat.starttime, stat.rss), (500, 70, 123_456, 25));
    assert_eq!(stat.delayacct_blkio_ticks, Some(9));
}

#[test]
fn a_cut_or_garbled_stat_is_none_and_no_panic() {
    for end in 0..STAT.len() - 60 {
        let _ = stat(&STAT[..end]);
    }
    for text in
        ["", "(", ")", "()", "4242", "4242 (x", "4242 (x)", "4242 (x) ", ")(", "ä (x) R", "4242(x) R 1", "x (x) R 1"]
    {
        assert!(stat(text).is_none(), "{text:?}");
    }
}

#[test]
fn only_the_wanted_keys_are_taken_from_an_environment() {
    let bytes = b"PATH=/bin\0MY_SLURM_JOB_ID=1\0SLURM_JOB_ID=4711\0SLURM_JOB_ID=9\0SLURM_JOB_SLUID=sEKNKTV3WPV500\0\
                  TOKEN=secret\0\xff\xfe=1\0";
    let got = environ(bytes);
    assert_eq!(got.slurm_job.as_deref(), Some("4711"));
    assert_eq!(got.slurm_sluid.as_deref(), Some("sEKNKTV3WPV500"));
    assert!(!format!("{got:?}").contains("secret"));
}

#[test]
fn the_old_key_counts_where_the_new_one_is_missing() {
    assert_eq!(environ(b"SLURM_JOBID=12\0").slurm_job.as_deref(), Some("12"));
    assert_eq!(environ(b"SLURM_JOBID=12\0SLURM_JOB_ID=13\0").slurm_job.as_deref(), Some("13"));
}

#[test]
fn values_that_are_no_ids_are_dropped() {
    for value in ["", "x", "12_3", "-1", " 7", "99999999999", "7;rm"] {
        assert_eq!(environ(format!("SLURM_JOB_ID={value}\0").as_bytes()), Environ::default(), "{value}");
    }
    assert_eq!(environ(b"SLURM_JOB_SLUID=snot-a-sluid00\0"), Environ::default());
    assert_eq!(environ(b""), Environ::default());
}

#[test]
fn a_status_gives_the_real_user_and_all_pids() {
    let status_text = std::fs::read_to_string("/proc/self/status").unwrap();
    let (uid, pids) = status(&status_text).unwrap();
    assert_eq!(uid, nix::unistd::getuid().as_raw());
    assert_eq!(pids.first(), Some(&std::process::id()));
    assert_eq!(
        status("Name:\tUid: 0\nUid:\t20117\t0\t0\t0\nNSpid:\t645400\t324\n"),
        Some((20_117, vec![645_400, 324]))
    );
    assert_eq!(status("Uid:\t5\t5\t5\t5\n"), Some((5, vec![])));
    assert!(status("").is_none());
    assert!(status("Uid:\n").is_none());
    assert!(status("Uid:\t-1\n").is_none());
    assert!(status("Name:\tx\n").is_none());
}

#[test]
fn the_bytes_read_are_those_from_storage() {
    let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
    assert_eq!(read_bytes(text), Some(4096));
    assert_eq!(read_bytes("rchar: 1\n"), None);
}
