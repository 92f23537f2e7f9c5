//! Thresholds: the numbers that findings go by, with their unit in the name, by task type, queue and team.
//!
//! The built-in numbers are not stored: they are published for every time that no row of their scope covers.

use gpuledger_schema::state::TaskType;
use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::ThresholdRow;

use super::{Derived, FROM, Fields, Spec, TO, no_check_whole, optional, reference_row, required, uncovered};
use crate::cell::Cell;
use crate::kind::Kind;

/// Ten-thousandths in one: how numbers are stored.
const ONE: i64 = 10_000;
/// Rule whose numbers are those of every rule.
const ALL: &str = "all";
/// Shortest window of a rule that looks for spells of rest: evidence is kept by cells of 15 minutes.
const WINDOW_MINUTES_MIN: i64 = 15;

/// Every rule of findings, in order: idle time that several explain belongs to the first.
pub const RULES: &[&str] = &[
    "never_touched",
    "idle_since",
    "partly_used",
    "hung",
    "low_use",
    "memory_asked",
    "memory_over_quota",
    "card_too_large",
    "card_cut_small",
    "outside_spec",
    "limit_over_run",
    "over_duration",
    "sm_low_week",
    "memory_bound",
    "input_bound",
    "resident_service",
    "contention",
    "slow_start",
    "failed_runs",
    "debug_left",
    "token_load",
    "idle_other",
];

/// Rule, name, number in ten-thousandths of the unit that the name ends with.
const DEFAULTS: &[(&str, &str, i64)] = &[
    (ALL, "coverage_percent", 90 * ONE),
    ("never_touched", "window_minutes", 60 * ONE),
    ("idle_since", "window_minutes", 240 * ONE),
    ("partly_used", "window_minutes", 60 * ONE),
    ("hung", "window_minutes", 30 * ONE),
    ("low_use", "mean_percent", 10 * ONE),
    ("low_use", "window_minutes", 60 * ONE),
    ("memory_asked", "peak_times", 2 * ONE),
    ("memory_asked", "window_minutes", 60 * ONE),
    ("memory_over_quota", "margin_percent", 0),
    ("card_too_large", "margin_percent", 15 * ONE),
    ("card_too_large", "smallest_percent", 125_000),
    ("card_too_large", "window_minutes", 60 * ONE),
    ("card_cut_small", "smallest_percent", 125_000),
    ("outside_spec", "window_minutes", 60 * ONE),
    ("limit_over_run", "run_times", 4 * ONE),
    ("limit_over_run", "left_minutes", 60 * ONE),
    ("over_duration", "grace_minutes", 0),
    ("sm_low_week", "mean_percent", 30 * ONE),
    ("sm_low_week", "window_days", 7 * ONE),
    ("memory_bound", "sm_percent", 70 * ONE),
    ("memory_bound", "tensor_percent", ONE),
    ("memory_bound", "dram_percent", 50 * ONE),
    ("memory_bound", "window_minutes", 60 * ONE),
    ("input_bound", "sm_percent", 30 * ONE),
    ("input_bound", "wait_percent", 20 * ONE),
    ("input_bound", "power_percent", 90 * ONE),
    ("input_bound", "window_minutes", 60 * ONE),
    ("resident_service", "memory_percent", 80 * ONE),
    ("resident_service", "mean_percent", 10 * ONE),
    ("resident_service", "window_hours", 24 * ONE),
    ("contention", "over_percent", 5 * ONE),
    ("contention", "window_minutes", 60 * ONE),
    ("slow_start", "window_minutes", 10 * ONE),
    ("failed_runs", "lost_minutes", 10 * ONE),
    ("debug_left", "window_minutes", 120 * ONE),
    ("token_load", "peak_percent", ONE),
    ("token_load", "mean_percent", ONE),
    ("token_load", "window_minutes", 240 * ONE),
];

/// Numbers that a task type has of its own.
const DEFAULTS_BY_TYPE: &[(&str, &str, TaskType, i64)] = &[
    ("idle_since", "window_minutes", TaskType::Train, 1440 * ONE),
    ("idle_since", "window_minutes", TaskType::Finetune, 1440 * ONE),
];

pub(crate) const SPEC: Spec = Spec {
    table: ThresholdRow::TABLE,
    columns: &[
        required("rule", "rule", Kind::Text),
        required("name", "name", Kind::Text),
        required("value", "value_e4", Kind::Number { max: 1_000_000 * ONE }),
        optional("task_type", "task_type", Kind::TaskType),
        optional("queue", "queue", Kind::Text),
        optional("team", "team", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["rule", "name", "task_type", "queue", "team"],
    beside: &[],
    derived: &[Derived { stored: "unit", make: |f| unit_of(f.text("name").unwrap_or_default()) }],
    check,
    check_whole: no_check_whole,
};

reference_row!(ThresholdRow, Thresholds, published with_defaults;
    rule, name, value_e4, unit, task_type, queue, team, from_ms, to_ms);

/// The unit is the last word of a name.
fn unit_of(name: &str) -> Cell {
    Cell::Text(name.rsplit('_').next().unwrap_or(name).to_owned())
}

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let (rule, name) = (row.text("rule")?, row.text("name")?);
    let names: Vec<&str> = DEFAULTS.iter().filter(|(r, ..)| *r == rule).map(|(_, n, _)| *n).collect();
    if names.is_empty() {
        let mut rules: Vec<&str> = DEFAULTS.iter().map(|(r, ..)| *r).collect();
        rules.dedup();
        return Some(("rule", format!("unknown rule `{rule}`; it is one of {}", rules.join(", "))));
    }
    if !names.contains(&name) {
        return Some(("name", format!("`{rule}` has no `{name}`; it has {}", names.join(", "))));
    }
    let value = row.int("value_e4")?;
    if name.ends_with("_percent") && value > 100 * ONE {
        return Some(("value", "a percentage is at most 100".to_owned()));
    }
    let spells = ["never_touched", "idle_since", "partly_used", "hung", "debug_left"];
    if name == "window_minutes" && spells.contains(&rule) && value < WINDOW_MINUTES_MIN * ONE {
        return Some(("value", format!("`{rule}` cannot see spells under {WINDOW_MINUTES_MIN} minutes")));
    }
    None
}

/// The built-in thresholds: one open row from the beginning for each.
pub fn default_thresholds() -> Vec<ThresholdRow> {
    let row = |rule: &str, name: &str, task_type: Option<TaskType>, value_e4: i64| ThresholdRow {
        rule: rule.to_owned(),
        name: name.to_owned(),
        value_e4,
        unit: name.rsplit('_').next().unwrap_or(name).to_owned(),
        task_type: task_type.map(|t| t.as_str().to_owned()),
        queue: None,
        team: None,
        from_ms: 0,
        to_ms: None,
    };
    let any = DEFAULTS.iter().map(|(rule, name, value)| row(rule, name, None, *value));
    any.chain(DEFAULTS_BY_TYPE.iter().map(|(rule, name, kind, value)| row(rule, name, Some(*kind), *value))).collect()
}

/// Fills the time that no stored row of the same scope covers with the built-in numbers.
fn with_defaults(mut rows: Vec<ThresholdRow>) -> Vec<ThresholdRow> {
    let key = |r: &ThresholdRow| (r.rule.clone(), r.name.clone(), r.task_type.clone(), r.queue.clone(), r.team.clone());
    rows.sort_by_cached_key(|r| (key(r), r.from_ms));
    let mut fill = Vec::new();
    for default in default_thresholds() {
        let same = rows.iter().filter(|r| key(r) == key(&default)).map(|r| (r.from_ms, r.to_ms));
        fill.extend(uncovered(same).into_iter().map(|(from_ms, to_ms)| ThresholdRow {
            from_ms,
            to_ms,
            ..default.clone()
        }));
    }
    rows.extend(fill);
    rows.sort_by_cached_key(|r| (key(r), r.from_ms));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_numbers_hold_where_no_row_of_their_scope_does() {
        let idle = |rows: &[ThresholdRow], task_type: Option<&str>| -> Vec<(i64, i64, Option<i64>)> {
            let of =
                |r: &&ThresholdRow| r.rule == "idle_since" && r.task_type.as_deref() == task_type && r.team.is_none();
            rows.iter().filter(of).map(|r| (r.value_e4 / ONE, r.from_ms, r.to_ms)).collect()
        };
        let all = with_defaults(Vec::new());
        assert_eq!(all.len(), DEFAULTS.len() + DEFAULTS_BY_TYPE.len());
        assert_eq!((idle(&all, None), idle(&all, Some("train"))), (vec![(240, 0, None)], vec![(1440, 0, None)]));
        let built_in = default_thresholds().into_iter().find(|r| r.rule == "idle_since").unwrap();
        let own = ThresholdRow { value_e4: 120 * ONE, from_ms: 50, to_ms: Some(90), ..built_in };
        let of_a_team = ThresholdRow { team: Some("nlp".to_owned()), ..own.clone() };
        let rows = with_defaults(vec![own, of_a_team]);
        assert_eq!(idle(&rows, None), [(240, 0, Some(50)), (120, 50, Some(90)), (240, 90, None)]);
        assert_eq!(idle(&rows, Some("train")), [(1440, 0, None)]);
    }

    #[test]
    fn every_number_is_of_a_rule_and_ends_with_its_unit() {
        for (rule, name, _) in DEFAULTS {
            assert!(*rule == ALL || RULES.contains(rule), "{rule}");
            let units = ["percent", "times", "minutes", "hours", "days"];
            assert!(units.iter().any(|u| unit_of(name) == Cell::Text((*u).to_owned())), "{name}");
        }
    }
}
