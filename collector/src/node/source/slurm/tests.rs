//! Mapping folders, and what an index counts.

use super::*;
use crate::node::source::card::Instance;
use crate::node::source::scratch::Scratch;

/// Four cards whose device numbers run the other way round than the driver's order; the last one is cut.
fn cards() -> Vec<Card> {
    let card = |index: u32, instances| Card {
        uuid: format!("GPU-{index}"),
        nvml_index: Some(index),
        minor: Some(3 - index),
        instances,
    };
    vec![
        card(0, vec![]),
        card(1, vec![]),
        card(2, vec![]),
        card(3, vec![Instance { uuid: "MIG-7".into(), gi: 7, ci: Some(0), start: None }]),
    ]
}

fn index(index: u32) -> Gpu {
    Gpu::Index { index, instance: None }
}

fn mapped(gpu: Gpu, job: &str, uid: Option<u32>) -> Mapped {
    Mapped { gpu, job: job.into(), uid }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

#[test]
fn a_file_is_named_by_uuid_or_index_and_nothing_else() {
    assert_eq!(Gpu::named("GPU-6f3c"), Some(Gpu::Uuid("GPU-6f3c".into())));
    assert_eq!(Gpu::named("MIG-6f3c"), Some(Gpu::Uuid("MIG-6f3c".into())));
    assert_eq!(Gpu::named("2"), Some(index(2)));
    assert_eq!(Gpu::named("2.7"), Some(Gpu::Index { index: 2, instance: Some(7) }));
    for name in ["", "a", "2.", ".7", "2.x", "+2", "-1", "2.7.1", ".2.swp", "99999999999"] {
        assert_eq!(Gpu::named(name), None, "{name}");
    }
}

#[test]
fn jobstats_files_hold_job_and_user() {
    assert_eq!(parse_mapping("0", "4711 20117\n"), (vec![mapped(index(0), "4711", Some(20_117))], vec![]));
}

#[test]
fn dcgm_files_hold_a_job_a_line() {
    let gpu = Gpu::Index { index: 3, instance: Some(7) };
    let expected = vec![mapped(gpu.clone(), "1", None), mapped(gpu, "2", None)];
    assert_eq!(parse_mapping("3.7", "1\n2\n\n"), (expected, vec![]));
    assert_eq!(parse_mapping("0", "\n"), (vec![], vec![]), "nobody holds it");
}

#[test]
fn what_is_not_a_raw_job_id_is_warned_of_and_left_out() {
    for text in ["12_3\n", "12+0 5\n", "idle\n", "-7\n"] {
        let (lines, warnings) = parse_mapping("0", text);
        assert_eq!((lines.len(), warnings.len()), (0, 1), "{text}");
    }
    let (lines, warnings) = parse_mapping("0", "7 alice\n8 5\n");
    assert_eq!(lines, vec![mapped(index(0), "8", Some(5))]);
    assert_eq!(
        warnings,
        vec![Warning::Unread { file: "0".into(), why: "a line's second word is not a user's number" }]
    );
}

#[test]
fn a_folder_is_read_whole_and_a_file_that_fails_takes_only_itself() {
    let folder = Scratch::new();
    folder.write("GPU-0", "7 1000\n");
    folder.write("1", "8 1001\n");
    folder.write("README", "what is here\n");
    folder.make("2");
    let (lines, warnings) = read_mapping(&folder.path).unwrap();
    let expected = vec![mapped(index(1), "8", Some(1001)), mapped(Gpu::Uuid("GPU-0".into()), "7", Some(1000))];
    assert_eq!(lines, expected);
    let files: Vec<&str> = warnings
        .iter()
        .filter_map(|w| if let Warning::Unread { file, .. } = w { Some(file.as_str()) } else { None })
        .collect();
    assert_eq!(files, vec!["2", "README"]);
    assert!(matches!(read_mapping(&folder.path.join("none")), Err(SlurmError::Folder { .. })));
}

#[test]
fn an_index_counts_what_the_setting_says() {
    let cards = cards();
    let uuid = |meaning: &IndexMeaning, gpu: &Gpu| meaning.uuid(gpu, &cards);
    assert_eq!(uuid(&IndexMeaning::Nvml, &index(0)).as_deref(), Some("GPU-0"));
    assert_eq!(uuid(&IndexMeaning::Minor, &index(0)).as_deref(), Some("GPU-3"));
    let explicit = IndexMeaning::Explicit(vec!["GPU-2".into(), "GPU-9".into()]);
    assert_eq!(uuid(&explicit, &index(0)).as_deref(), Some("GPU-2"));
    assert_eq!(uuid(&explicit, &index(1)), None, "no such card in this node");
    assert_eq!(uuid(&explicit, &index(2)), None, "not written down");
    assert_eq!(uuid(&IndexMeaning::Nvml, &Gpu::Index { index: 3, instance: Some(7) }).as_deref(), Some("MIG-7"));
    assert_eq!(uuid(&IndexMeaning::Nvml, &Gpu::Index { index: 3, instance: Some(8) }), None);
    assert_eq!(uuid(&IndexMeaning::Minor, &Gpu::Uuid("GPU-1".into())).as_deref(), Some("GPU-1"));
}

#[test]
fn holders_are_by_uuid_and_an_unknown_card_is_warned_of() {
    let lines = [
        mapped(index(0), "7", Some(1000)),
        mapped(Gpu::Uuid("GPU-0".into()), "7", Some(1000)),
        mapped(index(0), "8", None),
        mapped(index(9), "7", None),
    ];
    let (held, warnings) = holders(&lines, &IndexMeaning::Nvml, &cards());
    let by = |job: &str, uid| Held { by: Allocation::Job(job.into()), uid };
    assert_eq!(held, BTreeMap::from([("GPU-0".to_owned(), vec![by("7", Some(1000)), by("8", None)])]));
    assert_eq!(warnings, vec![Warning::NoSuchGpu { gpu: index(9), job: "7".into() }]);
}

#[test]
fn a_wrong_index_shows_in_where_the_processes_are_and_the_right_one_is_named() {
    let lines = [mapped(index(0), "7", None), mapped(index(1), "8", None)];
    let seen = BTreeMap::from([("7".to_owned(), set(&["GPU-3"])), ("8".to_owned(), set(&["GPU-2"]))]);
    assert_eq!(cross_check(&lines, &IndexMeaning::Minor, &cards(), &seen), vec![]);
    let warnings = cross_check(&lines, &IndexMeaning::Nvml, &cards(), &seen);
    let elsewhere = |job: &str, recorded: &str, seen: &str| Warning::Elsewhere {
        job: job.into(),
        recorded: set(&[recorded]),
        seen: set(&[seen]),
        fits: Some(IndexMeaning::Minor),
    };
    assert_eq!(warnings, vec![elsewhere("7", "GPU-0", "GPU-3"), elsewhere("8", "GPU-1", "GPU-2")]);
}

#[test]
fn a_mismatch_that_no_reading_explains_says_so_and_an_unrecorded_job_is_none() {
    let lines = [mapped(index(0), "7", None)];
    let seen = BTreeMap::from([("7".to_owned(), set(&["GPU-1"])), ("9".to_owned(), set(&["GPU-2"]))]);
    let warnings = cross_check(&lines, &IndexMeaning::Nvml, &cards(), &seen);
    assert!(matches!(warnings.as_slice(), [Warning::Elsewhere { job, fits: None, .. }] if job == "7"), "{warnings:?}");
}

#[test]
fn a_job_that_uses_a_part_of_its_cards_is_no_mismatch() {
    let lines = [mapped(index(0), "7", None), mapped(index(1), "7", None)];
    let seen = BTreeMap::from([("7".to_owned(), set(&["GPU-1"]))]);
    assert_eq!(cross_check(&lines, &IndexMeaning::Nvml, &cards(), &seen), vec![]);
}
