//! Real samples read to the last digit, and impossible ones told from real.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn input(name: &str, text: &str) -> Input {
    Input { name: name.to_owned(), bytes: text.as_bytes().to_vec(), problem: None }
}

fn read(text: &str) -> Imported {
    import(&[input("s.csv", text)], &SonarOptions { cluster: "alpha".into() }).unwrap()
}

/// The real files, or `None` where this checkout has none.
fn recorded() -> Option<Vec<Input>> {
    let folder = crate::import::recorded_folder("uio-ml8-gpu")?;
    let read = |name: &str| crate::input::read(&format!("{folder}/{name}"), &mut std::io::empty()).unwrap();
    Some(vec![read("samples1.csv"), read("samples2.csv")])
}

const GOOD: &str = "2023-06-23T05:05:01.224181967+00:00,n1,192,u,7,python,744.7,196986336,1000,84,50,19730432\n";

#[test]
fn a_row_is_read_exactly() {
    let got = read(GOOD);
    let row = &got.samples[0];
    assert_eq!((row.stamp_ms, row.node.as_str(), row.hw_threads), (1_687_496_701_224, "n1", Some(192)));
    assert_eq!((row.user.as_str(), row.job.as_str(), row.command.as_str()), ("u", "7", "python"));
    assert_eq!((row.cpu_ppm, row.mem_bytes), (Some(7_447_000), Some(196_986_336 * 1_024)));
    assert_eq!((row.gpu_mask, row.gpu_ppm, row.gpu_mem_ppm), (0b1000, Some(840_000), Some(500_000)));
    assert_eq!(row.gpu_mem_bytes, Some(19_730_432 * 1_024));
    let look = &got.readings[0];
    assert_eq!((look.source.as_str(), look.kind.as_str(), look.node.as_deref()), ("s.csv#n1", "node", Some("n1")));
    assert_eq!((look.from_ms, look.to_ms, look.read_at_ms, look.rows), (row.stamp_ms, row.stamp_ms, row.stamp_ms, 1));
    assert!(got.quarantine.is_empty());
}

#[test]
fn impossible_readings_are_left_out_and_the_row_goes_in() {
    let row = |threads: &str, cpu: &str, mem: &str, mask: &str, gpu: &str, gpu_mem: &str, kib: &str| {
        read(&format!("2023-06-23T05:05:01Z,n1,{threads},u,7,python,{cpu},{mem},{mask},{gpu},{gpu_mem},{kib}\n"))
    };
    let rejects = |got: Imported| {
        assert_eq!(got.samples.len(), 1);
        let fields: Vec<_> = got.quarantine.iter().map(|q| q.field.clone().unwrap()).collect();
        assert!(got.quarantine.iter().all(|q| q.reason.ends_with("(left out; the row went in)")));
        (fields.join(" "), got.samples[0].clone())
    };
    let (fields, sample) = rejects(row("192", "100", "1", "1", "2619", "50", "1"));
    assert_eq!((fields.as_str(), sample.gpu_ppm, sample.gpu_mem_ppm), ("gpu%", None, Some(500_000)));
    assert_eq!(rejects(row("192", "100", "1", "11", "200", "50", "1")).0, "");
    assert_eq!(rejects(row("192", "100", "1", "11", "200.1", "50", "1")).0, "gpu%");
    assert_eq!(rejects(row("192", "100", "1", "0", "1", "0", "0")).0, "gpu%");
    assert_eq!(rejects(row("2", "200.1", "1", "0", "0", "0", "0")).0, "cpu%");
    assert_eq!(
        rejects(row("0", "37100", "-1", "1", "NaN", "inf", "18014398509481984")).0,
        "threads mem_kib gpu% gpu_mem% gpu_mem_kib"
    );
    let (fields, sample) =
        rejects(row("192", "", "9223372036854775792", "1", "140737488355328.0", "0", "140737488355328.0"));
    assert_eq!(fields, "cpu% mem_kib gpu% gpu_mem_kib");
    assert_eq!((sample.cpu_ppm, sample.mem_bytes, sample.gpu_ppm, sample.gpu_mem_bytes), (None, None, None, None));
    assert_eq!(sample.gpu_mem_ppm, Some(0));
}

#[test]
fn rows_that_cannot_be_placed_are_refused_alone() {
    let bad = [
        "2023-06-23T05:05:01,n1,192,u,7,python,0,0,0,0,0,0",
        "2023-06-23T05:05:01Z,,192,u,7,python,0,0,0,0,0,0",
        "2023-06-23T05:05:01Z,n1,192,u,7,python,0,0,2,0,0,0",
        "2023-06-23T05:05:01Z,n1,192,u,7,python,0,0,unknown,0,0,0",
        "2023-06-23T05:05:01Z,n1,192,u,7",
    ];
    let got = read(&format!("{}\n{GOOD}", bad.join("\n")));
    assert_eq!((got.samples.len(), got.records), (1, 6));
    let at: Vec<_> = got.quarantine.iter().map(|q| (q.line.unwrap(), q.field.as_deref().unwrap_or("-"))).collect();
    assert_eq!(at, [(1, "time"), (2, "host"), (3, "gpus"), (4, "gpus"), (5, "-")]);
    assert_eq!(got.quarantine[4].reason, "5 fields where 12 are expected");
    let nothing = import(&[input("x.csv", "a,b\n1,2\n")], &SonarOptions { cluster: "alpha".into() }).unwrap_err();
    assert!(nothing.to_string().starts_with("`x.csv` holds no sample: none of its 2 rows"));
}

#[test]
fn commands_may_hold_commas_and_equal_rows_are_two() {
    let got = read(&format!("{}{GOOD}{GOOD}", GOOD.replace("python", "\"python,python <defunct>\"")));
    assert_eq!(got.samples[0].command, "python,python <defunct>");
    assert_eq!(got.samples.iter().map(|s| s.sample_id).collect::<BTreeSet<_>>().len(), 3);
    let twice = import(&[input("a", GOOD), input("b", GOOD)], &SonarOptions { cluster: "alpha".into() }).unwrap();
    assert_eq!((twice.samples.len(), twice.readings.len()), (1, 2));
}

#[test]
fn masks_are_read_from_the_right() {
    for (text, expected) in
        [("0", Some(0)), ("1", Some(1)), ("1000", Some(8)), ("0011", Some(3)), ("", None), ("12", None), ("-1", None)]
    {
        assert_eq!(mask(text), expected, "{text}");
    }
    assert_eq!(mask(&"1".repeat(63)), Some(i64::MAX));
    assert_eq!(mask(&"1".repeat(64)), None);
}

/// Ceilings of mean and peak over a job's samples, as the published table has them.
fn figures(samples: &[SampleRow], job: &str) -> Vec<i64> {
    let mut stamps: BTreeMap<i64, [i64; 4]> = BTreeMap::new();
    for s in samples.iter().filter(|s| s.job == job) {
        let at = stamps.entry(s.stamp_ms).or_default();
        let values = [s.cpu_ppm, s.mem_bytes, s.gpu_ppm, s.gpu_mem_bytes];
        at.iter_mut().zip(values).for_each(|(sum, v)| *sum += v.unwrap());
    }
    let ceiling = |over: i64, under: i64| (over + under - 1) / under;
    let count = i64::try_from(stamps.len()).unwrap();
    let units = [PERCENT, 1 << 30, PERCENT, 1 << 30];
    let one = |at: usize| {
        let sum: i64 = stamps.values().map(|v| v[at]).sum();
        let peak = stamps.values().map(|v| v[at]).max().unwrap();
        [ceiling(sum, count * units[at]), ceiling(peak, units[at])]
    };
    (0..4).flat_map(one).collect()
}

#[test]
fn published_figures_follow_from_the_rows() {
    let Some(inputs) = recorded() else { return };
    let got = import(&inputs, &SonarOptions { cluster: "ml".into() }).unwrap();
    assert_eq!((got.samples.len(), got.records, got.quarantine.len()), (2_880, 2_880, 0));
    assert_eq!(got.readings.iter().map(|r| r.rows).collect::<Vec<_>>(), [1_440, 1_440]);
    assert_eq!(got.samples.iter().map(|s| s.stamp_ms).collect::<BTreeSet<_>>().len(), 494);

    let folder = crate::import::recorded_folder("uio-ml8-gpu").unwrap();
    let table = crate::input::read(&format!("{folder}/expected_jobs.txt"), &mut std::io::empty()).unwrap();
    let table = String::from_utf8(table.bytes).unwrap();
    let mut jobs = 0;
    for line in table.lines().skip(1).filter(|l| !l.trim().is_empty()) {
        let job = line[..10].trim_end().trim_end_matches(['<', '>', '!']);
        let rest = line[29..].split_whitespace();
        let expected: Vec<i64> = rest.skip(1).take(8).map(|n| n.parse().unwrap()).collect();
        assert_eq!(figures(&got.samples, job), expected, "job {job}");
        jobs += 1;
    }
    assert_eq!(jobs, 20);
    let idle: Vec<_> = got.samples.iter().filter(|s| s.job == "2447150").collect();
    assert!(idle.len() == 248 && idle.iter().all(|s| s.gpu_mask == 8 && s.gpu_ppm == Some(0)));
}
