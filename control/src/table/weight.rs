//! Task weights: percents of SM, DRAM and tensor activity in the composite of a task type.
//!
//! The built-in weights are not stored: they are published for every time of every task type that no row covers.

use gpuledger_schema::state::TaskType;
use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::TaskWeightRow;

use super::{FROM, Fields, Spec, TO, no_check_whole, reference_row, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: TaskWeightRow::TABLE,
    columns: &[
        required("task_type", "task_type", Kind::TaskType),
        required("sm", "sm_ppm", Kind::Percent),
        required("dram", "dram_ppm", Kind::Percent),
        required("tensor", "tensor_ppm", Kind::Percent),
        FROM,
        TO,
    ],
    selector: &["task_type"],
    beside: &[],
    derived: &[],
    check,
    check_whole: no_check_whole,
};

reference_row!(TaskWeightRow, Weights, published with_defaults;
    task_type, sm_ppm, dram_ppm, tensor_ppm, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let all_zero = ["sm_ppm", "dram_ppm", "tensor_ppm"].iter().all(|c| row.int(c) == Some(0));
    all_zero.then(|| ("sm", "all weights are 0: nothing would ever be effective".to_owned()))
}

/// The built-in weights: one open row from the beginning for every task type.
pub fn default_task_weights() -> Vec<TaskWeightRow> {
    let percent = 10_000;
    let row = |task_type: &TaskType| {
        let (sm, dram, tensor) = match task_type {
            TaskType::Train | TaskType::Finetune => (50, 20, 30),
            TaskType::Infer => (30, 50, 20),
            TaskType::Eval | TaskType::Batch => (40, 30, 30),
            TaskType::Debug | TaskType::Data | TaskType::Unknown => (100, 0, 0),
        };
        TaskWeightRow {
            task_type: task_type.as_str().to_owned(),
            sm_ppm: sm * percent,
            dram_ppm: dram * percent,
            tensor_ppm: tensor * percent,
            from_ms: 0,
            to_ms: None,
        }
    };
    TaskType::ALL.iter().map(row).collect()
}

/// Fills the time that no stored row covers with the built-in weights.
fn with_defaults(mut rows: Vec<TaskWeightRow>) -> Vec<TaskWeightRow> {
    rows.sort_by(|a, b| (&a.task_type, a.from_ms).cmp(&(&b.task_type, b.from_ms)));
    let mut fill = Vec::new();
    for default in default_task_weights() {
        let mut uncovered_from = Some(0);
        for row in rows.iter().filter(|r| r.task_type == default.task_type) {
            let Some(from_ms) = uncovered_from else { break };
            if row.from_ms > from_ms {
                fill.push(TaskWeightRow { from_ms, to_ms: Some(row.from_ms), ..default.clone() });
            }
            uncovered_from = row.to_ms;
        }
        if let Some(from_ms) = uncovered_from {
            fill.push(TaskWeightRow { from_ms, ..default });
        }
    }
    rows.extend(fill);
    rows.sort_by(|a, b| (&a.task_type, a.from_ms).cmp(&(&b.task_type, b.from_ms)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(rows: &[TaskWeightRow], task_type: &str) -> Vec<(i64, i64, Option<i64>)> {
        rows.iter().filter(|r| r.task_type == task_type).map(|r| (r.sm_ppm, r.from_ms, r.to_ms)).collect()
    }

    #[test]
    fn built_in_weights_fill_what_imported_rows_leave_open() {
        let all = with_defaults(Vec::new());
        assert_eq!(all.len(), TaskType::ALL.len());
        let row = |from_ms, to_ms| TaskWeightRow {
            task_type: "train".into(),
            sm_ppm: 7,
            dram_ppm: 0,
            tensor_ppm: 0,
            from_ms,
            to_ms,
        };
        let rows = with_defaults(vec![row(500, Some(900)), row(100, Some(200)), row(200, Some(300))]);
        assert_eq!(
            intervals(&rows, "train"),
            [
                (500_000, 0, Some(100)),
                (7, 100, Some(200)),
                (7, 200, Some(300)),
                (500_000, 300, Some(500)),
                (7, 500, Some(900)),
                (500_000, 900, None),
            ]
        );
        assert_eq!(intervals(&with_defaults(vec![row(0, None)]), "train"), [(7, 0, None)]);
        assert_eq!(intervals(&rows, "infer"), [(300_000, 0, None)]);
    }
}
