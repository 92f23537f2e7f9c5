//! Task type rules: ordered by `position`, the lowest that matches gives a run its task type.

use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::TaskTypeRuleRow;

use super::{Derived, FROM, Spec, TO, no_check, no_check_whole, optional, reference_row, regex_of, required};
use crate::kind::Kind;

pub(crate) const SPEC: Spec = Spec {
    table: TaskTypeRuleRow::TABLE,
    columns: &[
        required("position", "position", Kind::Count { min: 0, max: 1_000_000_000 }),
        optional("cluster", "cluster", Kind::Text),
        optional("queue", "queue", Kind::Text),
        optional("qos", "qos", Kind::Text),
        optional("account", "account", Kind::Text),
        optional("label", "label", Kind::Label),
        optional("workload_kind", "workload_kind", Kind::Text),
        optional("name_pattern", "name_pattern", Kind::Pattern),
        required("task_type", "task_type", Kind::TaskType),
        FROM,
        TO,
    ],
    selector: &["position"],
    beside: &[],
    derived: &[Derived { stored: "name_regex", make: |f| regex_of(f, "name_pattern") }],
    check: no_check,
    check_whole: no_check_whole,
};

reference_row!(TaskTypeRuleRow, Rules;
    position, cluster, queue, qos, account, label, workload_kind, name_pattern, name_regex, task_type, from_ms, to_ms);
