//! Samples of a node with four GPUs: 160 published figures, and a holder that did nothing for twenty hours.

use crate::site::{Done, Site, shared, text_of};
use crate::table::{decimal, four_places};

/// The time the samples speak of.
const WINDOW: [&str; 6] = ["--from", "2023-06-23", "--to", "2023-06-25", "--zone", "UTC"];
/// Held, and held at zero, by GPU.
const HELD: [(&str, &str); 4] =
    [("20.9169", "0.2503"), ("18.9169", "0.3335"), ("24.4165", "0.5834"), ("40.2502", "20.6665")];

#[test]
fn uio_all_published_figures_and_who_held_what() {
    let Some(folder) = shared("uio_all_published_figures_and_who_held_what", "data/uio-ml8-gpu") else { return };
    let files = [format!("{folder}/samples1.csv"), format!("{folder}/samples2.csv")];
    let site = Site::new();
    site.ok(&["import", "sonar", "--cluster", "uio", &files[0], &files[1]]);
    figures(&site, &folder);
    held(&site, &sampled_hours(&files));
    idle_holder(&site);
    order_split_and_overlap(&folder, &everything(&site));
}

fn figures(site: &Site, folder: &str) {
    let ours = site.table(&["report", "samples", "--zone", "UTC"]);
    let names = ["cpu_avg", "cpu_peak", "mem_avg", "mem_peak", "gpu_avg", "gpu_peak", "gpumem_avg", "gpumem_peak"];
    let expected = text_of(&format!("{folder}/expected_jobs.txt"));
    let mut compared = 0;
    for line in expected.lines().skip(1) {
        // the duration is the one field with a blank in it
        let (id, rest) = line.split_once(' ').unwrap();
        let job = id.trim_end_matches(['<', '>', '!']);
        let words: Vec<&str> = rest.split_whitespace().collect();
        let host = words.iter().position(|w| *w == "gpunode1").unwrap();
        let of = |column: &str| ours.get(&[("job", job)], column);
        assert_eq!((of("mark"), of("user")), (&id[job.len()..], words[0]), "{line}");
        assert_eq!(of("duration").replace(' ', ""), words[1..host].concat(), "{line}");
        assert_eq!(of("command"), words[host + 9..].join(" "), "{line}");
        for (name, published) in names.iter().zip(&words[host + 1..]) {
            assert_eq!(of(name), *published, "{name} of {line}");
            compared += 1;
        }
    }
    assert_eq!(compared, 160);
    assert!(ours.rows.len() > 20, "the published table leaves short jobs out, this one does not");
}

/// From the first sample to the last: the first itself stands for no time.
fn sampled_hours(files: &[String; 2]) -> String {
    let texts = files.each_ref().map(|f| text_of(f));
    let stamps = texts
        .iter()
        .flat_map(|t| t.lines())
        .map(|l| chrono::DateTime::parse_from_rfc3339(l.split(',').next().unwrap()).unwrap().timestamp_millis());
    let (first, last) = (stamps.clone().min().unwrap(), stamps.max().unwrap());
    four_places(i128::from(last - first), 3_600_000)
}

fn held(site: &Site, sampled: &str) {
    let usage = site.table(&[&["report", "usage", "--by", "device"][..], &WINDOW].concat());
    assert_eq!(usage.rows.len(), HELD.len());
    for (row, (hours, zero)) in usage.rows.iter().zip(HELD) {
        let of = |column: &str| row[usage.at(column)].as_str();
        assert_eq!((of("held_hours"), of("held_zero_hours")), (hours, zero), "{row:?}");
        let whole = decimal(of("capacity_hours"));
        assert_eq!(of("capacity_hours"), sampled, "{row:?}");
        // each figure is rounded for itself
        let rest = decimal(of("unallocated_hours")) - (whole - decimal(hours));
        assert!(rest.abs() <= 1, "nobody's is the rest: {row:?}");
        assert_eq!(
            (of("unobserved_hours"), of("unavailable_hours"), of("held_unmeasured_hours")),
            ("0.0000", "0.0000", "0.0000")
        );
        let parts = decimal(of("busy_hours")) + decimal(of("held_idle_hours"));
        assert!((parts - decimal(hours)).abs() <= 1, "{row:?}");
    }
}

/// Job 2447150 held GPU 3 for 248 samples at 0 %: found by its idle time, with its owner.
fn idle_holder(site: &Site) {
    let usage = site.table(&[&["report", "usage", "--by", "job,user"][..], &WINDOW].concat());
    // what samples name a job is unique on its host only
    let holder = [("job", "gpunode1.example:2447150")];
    assert_eq!(usage.get(&holder, "user"), "user2");
    assert_eq!(usage.get(&holder, "held_zero_hours"), "20.6665");
    assert_eq!((usage.get(&holder, "held_idle_hours"), usage.get(&holder, "busy_hours")), ("20.6665", "0.0000"));
    let most = usage.rows.iter().filter(|r| r[usage.at("job")] != "-");
    let most = most.max_by_key(|r| decimal(&r[usage.at("held_zero_hours")])).unwrap();
    assert_eq!(most[usage.at("job")], "gpunode1.example:2447150");
    for innocent in ["gpunode1.example:1921146", "gpunode1.example:2628112"] {
        assert!(decimal(usage.get(&[("job", innocent)], "held_zero_hours")) < decimal("0.5"), "{innocent}");
    }
    let told = site.ok(&["explain", "2447150", "--zone", "UTC"]);
    assert!(told.contains("user2"), "{told}");
}

fn everything(site: &Site) -> [String; 3] {
    let by = |by: &str| {
        site.ok(&[&["report", "usage", "--format", "csv", "--step", "day", "--by", by][..], &WINDOW].concat())
    };
    [site.ok(&["report", "samples", "--zone", "UTC", "--format", "csv"]), by("device"), by("job,user,device")]
}

/// The other order, both at once cut elsewhere, and files that overlap: the same reports, byte for byte.
fn order_split_and_overlap(folder: &str, expected: &[String; 3]) {
    let (one, two) = (text_of(&format!("{folder}/samples1.csv")), text_of(&format!("{folder}/samples2.csv")));
    let whole = format!("{one}{two}");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    // a cut between samples: equal rows of one sample are counted inside a file
    let cut = (500..).find(|at| lines[*at].split(',').next() != lines[at - 1].split(',').next()).unwrap();
    let later = (cut + 900..).find(|at| lines[*at].split(',').next() != lines[at - 1].split(',').next()).unwrap();
    let part = |from: usize, to: usize| lines[from..to].concat();
    let ways: [Vec<String>; 3] = [
        vec![two, one],
        vec![part(later, lines.len()), part(0, cut), part(cut, later)],
        vec![part(cut, lines.len()), part(0, later), whole.clone()],
    ];
    for (n, way) in ways.iter().enumerate() {
        let site = Site::new();
        for (m, text) in way.iter().enumerate() {
            let file = site.file(&format!("part{n}-{m}.csv"), text);
            let Done { code, err, .. } = site.run(&["import", "sonar", "--cluster", "uio", &file]);
            assert_eq!((code, err.as_str()), (0, ""), "way {n}");
            if n == 0 {
                // a ledger built in between changes nothing
                site.ok(&["ingest"]);
            }
        }
        assert_eq!(&everything(&site), expected, "way {n}");
    }
}
