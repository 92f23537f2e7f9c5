//! Specs: what runs of a task type should ask for, of a team or of any.
//!
//! The built-in longest durations (train 72 h, batch 4 h) are not stored: they are published for every time of their
//! task type that no row for any team covers.

use gpuledger_schema::state::TaskType;
use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::SpecRow;

use super::{FROM, Fields, Spec, TO, no_check_whole, optional, reference_row, required, uncovered};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: SpecRow::TABLE,
    columns: &[
        required("task_type", "task_type", Kind::TaskType),
        optional("team", "team", Kind::Text),
        optional("tier", "tier", Kind::Text),
        optional("gpu_memory_gib", "gpu_mem_bytes", Kind::Gib),
        optional("share_percent", "share_ppm", Kind::Percent),
        optional("gpus", "gpus", Kind::Count { min: 1, max: 10_000_000 }),
        optional("max_hours", "max_hours", Kind::Count { min: 1, max: 1_000_000 }),
        FROM,
        TO,
    ],
    selector: &["task_type", "team"],
    beside: &[],
    derived: &[],
    check,
    check_whole: no_check_whole,
};

reference_row!(SpecRow, Specs, published with_defaults;
    task_type, team, tier, gpu_mem_bytes, share_ppm, gpus, max_hours, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let numbers = ["gpu_mem_bytes", "share_ppm", "gpus", "max_hours"];
    let says_nothing = row.text("tier").is_none() && numbers.iter().all(|c| row.int(c).is_none());
    says_nothing.then(|| ("tier", "the row recommends nothing: fill at least one of its columns".to_owned()))
}

/// The built-in specs: the longest durations of training and batch work.
pub fn default_specs() -> Vec<SpecRow> {
    let row = |task_type: TaskType, hours: i64| SpecRow {
        task_type: task_type.as_str().to_owned(),
        team: None,
        tier: None,
        gpu_mem_bytes: None,
        share_ppm: None,
        gpus: None,
        max_hours: Some(hours),
        from_ms: 0,
        to_ms: None,
    };
    vec![row(TaskType::Train, 72), row(TaskType::Batch, 4)]
}

fn with_defaults(mut rows: Vec<SpecRow>) -> Vec<SpecRow> {
    rows.sort_by(|a, b| (&a.task_type, &a.team, a.from_ms).cmp(&(&b.task_type, &b.team, b.from_ms)));
    let mut fill = Vec::new();
    for default in default_specs() {
        let same = rows.iter().filter(|r| r.team.is_none() && r.task_type == default.task_type);
        let free = uncovered(same.map(|r| (r.from_ms, r.to_ms)));
        fill.extend(free.into_iter().map(|(from_ms, to_ms)| SpecRow { from_ms, to_ms, ..default.clone() }));
    }
    rows.extend(fill);
    rows.sort_by(|a, b| (&a.task_type, &a.team, a.from_ms).cmp(&(&b.task_type, &b.team, b.from_ms)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_durations_hold_until_a_row_for_any_team_takes_over() {
        let train = default_specs().remove(0);
        let own = SpecRow { max_hours: Some(24), from_ms: 100, ..train.clone() };
        let of_a_team = SpecRow { team: Some("nlp".to_owned()), max_hours: Some(1), ..train };
        let rows = with_defaults(vec![own, of_a_team]);
        let hours: Vec<_> = rows
            .iter()
            .filter(|r| r.task_type == "train")
            .map(|r| (r.team.is_some(), r.max_hours, r.from_ms))
            .collect();
        assert_eq!(hours, [(false, Some(72), 0), (false, Some(24), 100), (true, Some(1), 0)]);
    }
}
