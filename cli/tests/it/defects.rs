//! Wrong numbers that other billing systems are known for, each with the tests that would show it here. The numbers are those of
//! the catalogue that the project started from.

use std::path::Path;

/// Number, what went wrong, and functions of tests.
const DEFECTS: [(u32, &str, &[&str]); 30] = [
    (
        1,
        "idle time below zero",
        &["worlds_sql_and_oracle_agree_on_every_row_and_every_charge", "every_mode_adds_up_to_what_the_fleet_cost"],
    ),
    (2, "a clamp hides the cause", &["worlds_sql_and_oracle_agree_on_every_row_and_every_charge"]),
    (
        3,
        "idle cost vanishes where nobody is there to bear it",
        &["c41_what_nobody_used_is_shared_out", "c41_an_idle_pool_stays_visible"],
    ),
    (4, "sharing out loses a model of a mixed pool", &["every_model_of_a_pool_is_shared_out_at_its_price"]),
    (5, "active time is billed as held time", &["c48_held_is_not_used"]),
    (6, "usage is allocation under another name", &["c48_held_is_not_used", "c48_a_mean_is_weighted_by_time"]),
    (7, "a card's utilization is copied to each of its users", &["case_c15_copies_of_a_card_add_up_to_the_card"]),
    (8, "a shared GPU is priced zero", &["case_c16_a_part_costs_what_was_granted_and_the_rest_is_stranded"]),
    (
        9,
        "a slice is billed as a card",
        &["c13_seven_slices_are_one_card", "c13_a_slice_counts_by_compute", "openb_by_qos_with_parts_of_gpus"],
    ),
    (
        10,
        "an unknown model costs nothing",
        &["c42_a_model_without_a_price_is_listed_and_not_free", "a_close_is_refused_with_what_would_mend_it"],
    ),
    (
        11,
        "missing telemetry is no use",
        &["c47_a_gap_between_two_processes_is_a_gap", "c47_a_gap_lowers_the_coverage_and_no_rate"],
    ),
    (12, "hours and months are mixed up", &["a_price_has_one_unit"]),
    (13, "a GPU changes the price of something else", &["c42_a_price_of_one_is_one"]),
    (14, "GPU cost where there are no GPUs", &["c41_a_cluster_without_gpus_costs_nothing"]),
    (
        15,
        "a request is counted twice",
        &["l6_order_repetition_and_moments_of_ingest_change_nothing", "c21_four_gpus_however_they_are_written"],
    ),
    (
        16,
        "a month is doubled when it is loaded again",
        &[
            "l6_a_file_twice_in_one_command",
            "a_copy_that_cannot_be_written_is_verified_and_a_second_import_changes_nothing",
        ],
    ),
    (17, "a price that changes inside a month is ignored", &["c38_a_price_changes_at_local_midnight"]),
    (
        18,
        "history is priced with today's price",
        &["c38_a_price_changes_at_local_midnight", "c38_a_price_entered_after_the_close_corrects_from_its_date_on"],
    ),
    (
        19,
        "what changes inside an hour is priced by its last state",
        &[
            "what_changes_inside_an_hour_is_priced_by_the_second",
            "a_price_that_changes_at_an_odd_second_is_quoted_to_the_millisecond",
        ],
    ),
    (
        20,
        "months are cut in another zone, and an edge is billed twice",
        &["c22_a_job_over_a_period_edge_is_split_at_the_edge", "c30_a_month_is_labelled_as_its_own_zone_calls_it"],
    ),
    (21, "summer time adds or drops an hour", &["c29_days_of_23_and_25_hours", "c29_windows_follow_the_local_clock"]),
    (22, "sums of UTC days are widened for a zone", &["c30_single_days_add_up_to_their_range_in_every_zone"]),
    (
        23,
        "one window has different totals when it is asked again",
        &[
            "history_can_be_asked_as_of_a_version",
            "a_copy_that_cannot_be_written_is_verified_and_a_second_import_changes_nothing",
        ],
    ),
    (
        24,
        "an export says something else than the screen",
        &["every_document_has_the_same_amounts", "c63_one_question_has_one_answer"],
    ),
    (
        25,
        "rounded lines do not add up",
        &["c43_a_hundred_over_three_teams", "c43_many_lines_add_up_to_the_rounded_total"],
    ),
    (
        26,
        "it was rounded before it was multiplied",
        &["c36_prices_are_exact_to_their_last_digit", "philly_october_by_team_to_the_cent"],
    ),
    (
        27,
        "pieces of an hour lose seconds",
        &["c43_many_lines_add_up_to_the_rounded_total", "worlds_sql_and_oracle_agree_on_every_row_and_every_charge"],
    ),
    (28, "what is gone goes on costing", &["case_c19_an_end_that_nobody_recorded_is_the_last_look_until_one_is"]),
    (
        29,
        "names that are used again join two histories",
        &["c23_an_old_job_of_the_same_id_is_another_job", "c46_an_owner_who_is_named_after_the_close"],
    ),
    (30, "a validator refuses exact decimals", &["price_times_quantity_is_the_cost_exactly"]),
];

fn read(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            read(&entry, out);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            out.push_str(&std::fs::read_to_string(&entry).unwrap());
        }
    }
}

/// A test that was renamed or taken away leaves its defect without a guard: then this says so.
#[test]
fn every_known_defect_has_a_test_that_would_show_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    for folder in ["cli/tests", "tests/it", "export/tests"] {
        read(&root.join(folder), &mut sources);
    }
    let numbers: Vec<u32> = DEFECTS.iter().map(|d| d.0).collect();
    assert_eq!(numbers, (1..=30).collect::<Vec<_>>());
    for (number, what, tests) in DEFECTS {
        assert!(!tests.is_empty(), "{number}: {what}");
        for test in tests {
            assert!(sources.contains(&format!("fn {test}()")), "{number} ({what}): there is no test `{test}`");
        }
    }
}
