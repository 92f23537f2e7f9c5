//! Real job tables give the figures that are published for them.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_schema::unit::{CARD_UNITS, HOUR_MS, PPM};
use gpuledger_schema::window::{month, zone};

use super::*;

/// Hours to four decimals, half up, as the references print them.
fn hours(unit_ms: i128, one: i128) -> String {
    let hour = one * i128::from(HOUR_MS);
    let parts = (unit_ms * 10_000 * 2 + hour) / (hour * 2);
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}

fn unit_ms(run: &AllocationRow) -> i128 {
    i128::from(run.gpu_units) * i128::from(run.end_ms.unwrap() - run.start_ms)
}

fn cards(unit_ms: impl Iterator<Item = i128>) -> String {
    hours(unit_ms.sum(), i128::from(CARD_UNITS))
}

fn options(map: &str) -> JobsOptions {
    let path = format!("{}/../examples/maps/{map}.toml", env!("CARGO_MANIFEST_DIR"));
    let map = Map::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    JobsOptions { cluster: "c".into(), map, zone: None, as_of_ms: None }
}

fn recorded(folder: &str, file: &str) -> Option<Input> {
    let folder = crate::import::recorded_folder(folder)?;
    Some(crate::input::read(&format!("{folder}/{file}"), &mut std::io::empty()).unwrap())
}

fn ids(imported: &Imported) -> BTreeSet<i64> {
    imported.allocations.iter().map(|a| a.allocation_id).collect()
}

#[test]
fn philly_gives_its_published_hours() {
    let Some(input) = recorded("philly-vc-jobs", "philly_jobs.csv.gz") else { return };
    let got = import(&[input], &options("philly")).unwrap();
    assert_eq!((got.records, got.jobs.len(), got.allocations.len()), (82_247, 82_247, 82_247));
    assert_eq!((got.allocation_devices.len(), got.quarantine.len()), (82_247, 0));
    assert_eq!(ids(&got).len(), 82_247);
    assert_eq!(cards(got.allocations.iter().map(unit_ms)), "978078.4728");

    let october = month("2017-10", zone("UTC").unwrap()).unwrap();
    let inside = |a: &AllocationRow| {
        let overlap = a.end_ms.unwrap().min(october.to_ms) - a.start_ms.max(october.from_ms);
        i128::from(a.gpu_units) * i128::from(overlap.max(0))
    };
    assert_eq!(cards(got.allocations.iter().map(inside)), "442067.6128");
    let look = &got.readings[0];
    assert_eq!((look.rows, look.ok, look.read_at_ms), (82_247, true, look.to_ms));
    assert_eq!(look.to_ms, got.allocations.iter().map(|a| a.end_ms.unwrap()).max().unwrap());
}

#[test]
fn philly_twice_shuffled_or_split_is_the_same_record_set() {
    let Some(input) = recorded("philly-vc-jobs", "philly_jobs.csv.gz") else { return };
    let options = options("philly");
    let text = String::from_utf8(input.bytes).unwrap();
    let (header, body) = text.split_once('\n').unwrap();
    let file = |name: &str, lines: &[&str]| Input {
        name: name.to_owned(),
        bytes: format!("{header}\n{}\n", lines.join("\n")).into_bytes(),
        problem: None,
    };
    // A quarter of the table, sorted, so that equal records stand side by side and a cut can pull them apart.
    let mut lines: Vec<&str> = body.lines().collect();
    lines.sort_unstable();
    lines.truncate(lines.len() / 4);
    let whole = file("whole", &lines);
    let once = import(std::slice::from_ref(&whole), &options).unwrap();
    let twice = import(&[whole.clone(), whole], &options).unwrap();
    assert_eq!((&twice.allocations, &twice.jobs), (&once.allocations, &once.jobs));
    assert_eq!(twice.readings, once.readings);

    let cut = (1..lines.len()).rfind(|at| lines[*at] == lines[*at - 1]).unwrap();
    let (head, tail) = lines.split_at(cut);
    let split = import(&[file("a", head), file("b", tail)], &options).unwrap();
    // Ordinals count inside a file: of equal records that a split pulls apart, the larger number counts.
    let count = |part: &[&str]| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        part.iter().for_each(|l| *counts.entry((*l).to_owned()).or_default() += 1);
        counts
    };
    let (in_head, in_tail) = (count(head), count(tail));
    let pulled_apart: usize = in_head.iter().map(|(line, n)| *n.min(in_tail.get(line).unwrap_or(&0))).sum();
    assert!(pulled_apart > 0 && ids(&split).is_subset(&ids(&once)));
    assert_eq!(ids(&split).len() + pulled_apart, ids(&once).len());

    // A fixed shuffle: every record goes to a place given by its hash.
    lines.sort_by_cached_key(|l| id63("shuffle", &[l]));
    assert_eq!(ids(&import(&[file("c", &lines)], &options).unwrap()), ids(&once));
}

#[test]
fn openb_gives_its_hours_by_qos_and_lists_the_pods_that_never_started() {
    let Some(input) = recorded("openb-pods", "openb_pod_list_default.csv.gz") else { return };
    let got = import(&[input], &options("openb-pods")).unwrap();
    assert_eq!((got.jobs.len(), got.allocations.len(), got.quarantine.len()), (8_152, 8_152 - 897, 0));
    assert_eq!(cards(got.allocations.iter().map(unit_ms)), "51470.6742");
    let qos: BTreeMap<i64, &str> = got.jobs.iter().map(|j| (j.job_id, j.qos.as_deref().unwrap())).collect();
    for (name, expected) in
        [("LS", "41413.3600"), ("Burstable", "7459.2006"), ("BE", "1311.6358"), ("Guaranteed", "1286.4778")]
    {
        assert_eq!(cards(got.allocations.iter().filter(|a| qos[&a.job_id] == name).map(unit_ms)), expected, "{name}");
    }
    let never: Vec<_> = got.jobs.iter().filter(|j| j.state == "PENDING").collect();
    assert_eq!((never.len(), never.iter().filter(|j| j.req_gpu_units > Some(0)).count()), (897, 861));
    assert_eq!(got.jobs.iter().filter(|j| j.req_gpu_units > Some(0)).count(), 7_064);
    assert_eq!(got.allocations.iter().filter(|a| a.gpu_units > 0).count(), got.allocation_devices.len());
    assert!(got.allocations.iter().all(|a| a.gpu_exact && a.terminal));
}

#[test]
fn alex_gives_allocated_and_effective_hours_by_project() {
    let Some(input) = recorded("alex-gpu-jobs", "jobs.csv") else { return };
    let Some(reference) = recorded("alex-gpu-jobs", "reference_by_project.csv") else { return };
    let got = import(&[input], &options("alex")).unwrap();
    assert_eq!((got.allocations.len(), got.job_averages.len(), got.quarantine.len()), (303, 4 * 303, 0));
    assert_eq!(cards(got.allocations.iter().map(unit_ms)), "3980.0372");

    let average: BTreeMap<i64, i64> =
        got.job_averages.iter().filter(|a| a.measure == "gpu_util").map(|a| (a.allocation_id, a.value)).collect();
    let project: BTreeMap<i64, &str> = got.jobs.iter().map(|j| (j.job_id, j.account.as_deref().unwrap())).collect();
    let reference = String::from_utf8(reference.bytes).unwrap();
    let mut lines = 0;
    for line in reference.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let runs: Vec<_> =
            got.allocations.iter().filter(|a| fields[0] == "TOTAL" || project[&a.job_id] == fields[0]).collect();
        let gpus: i64 = runs.iter().map(|a| a.gpu_count).sum();
        assert_eq!((runs.len().to_string(), gpus.to_string()), (fields[1].into(), fields[2].into()), "{line}");
        assert_eq!(cards(runs.iter().map(|a| unit_ms(a))), fields[3], "{line}");
        let effective = runs.iter().map(|a| unit_ms(a) * i128::from(average[&a.allocation_id])).sum();
        assert_eq!(hours(effective, i128::from(CARD_UNITS) * i128::from(PPM)), fields[4], "{line}");
        lines += 1;
    }
    assert_eq!(lines, 24);
    let value = |measure: &str| got.job_averages.iter().find(|a| a.measure == measure).map(|a| a.value);
    assert_eq!(value("gpu_mem_used"), Some(1_349_058_036)); // 1286.562 MiB
    assert_eq!(value("cpu_load"), Some(36_870_000));
    assert_eq!(value("host_mem_used"), Some(37_731_000_000));
}
