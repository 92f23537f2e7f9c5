//! Reference tables: dated rows `[from_ms, to_ms)` that a person maintains; SQL reads them as lake versions only.

use super::money::{BudgetRow, CostCenterRow, CostPoolRow, DiscountRow, EnergyPriceRow, ManualLineRow, TermsRow};
use super::{ContactRow, Row, Table, table};

table! {
    /// GPUs a node (or a whole cluster) has, whether or not anybody sees them.
    InventoryRow: "inventory", grain "node (or cluster) x model x interval", key ["cluster", "node", "model", "from_ms"], by_day false {
        cluster: String, None, "cluster";
        node: Option<String>, None, "node; absent: somewhere in the cluster";
        model: String, None, "GPU model";
        gpus: i64, Count, "number of GPUs";
        memory_bytes: Option<i64>, Bytes, "memory of one card";
        queue: Option<String>, None, "queue the node belongs to";
        interconnect: Option<String>, None, "interconnect domain";
        declared_up: bool, None, "the owner declares these GPUs in service where nothing else is known; else they are unobserved";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A named set of devices by node pattern, queue or model. What no row names is in `default`.
    PoolRow: "pool", grain "pool x selector x interval", key ["pool", "cluster", "node_regex", "queue", "model", "from_ms"], by_day false {
        pool: String, None, "pool";
        cluster: Option<String>, None, "cluster; absent: any";
        node_pattern: Option<String>, None, "node pattern as typed (`*` and `?`); absent: any";
        node_regex: Option<String>, None, "the same as an anchored regular expression";
        queue: Option<String>, None, "queue; absent: any";
        model: Option<String>, None, "model; absent: any";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A capability class by model, memory and interconnect. Models no row names have none.
    TierRow: "tier", grain "tier x rule x interval", key ["tier", "model_regex", "memory_min_bytes", "interconnect", "from_ms"], by_day false {
        tier: String, None, "tier";
        model_pattern: Option<String>, None, "model pattern as typed; absent: any";
        model_regex: Option<String>, None, "the same as an anchored regular expression";
        memory_min_bytes: Option<i64>, Bytes, "card memory from (inclusive)";
        memory_max_bytes: Option<i64>, Bytes, "card memory to (inclusive)";
        interconnect: Option<String>, None, "interconnect domain; absent: any";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// An ordered rule that gives a run its task type; the lowest `position` that matches wins.
    TaskTypeRuleRow: "task_type_rule", grain "rule x interval", key ["position", "from_ms"], by_day false {
        position: i64, Count, "order: lower is tried first";
        cluster: Option<String>, None, "cluster; absent: any";
        queue: Option<String>, None, "queue; absent: any";
        qos: Option<String>, None, "QoS; absent: any";
        account: Option<String>, None, "account; absent: any";
        label: Option<String>, None, "label as key=value; absent: any";
        workload_kind: Option<String>, None, "workload kind; absent: any";
        name_pattern: Option<String>, None, "job name pattern as typed; absent: any";
        name_regex: Option<String>, None, "the same as an anchored regular expression";
        task_type: String, None, "task type given";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// Weights of the composite for a task type; they need not add up, missing parts renormalise.
    TaskWeightRow: "task_weight", grain "task type x interval", key ["task_type", "from_ms"], by_day false {
        task_type: String, None, "task type";
        sm_ppm: i64, Ppm, "weight of SM activity";
        dram_ppm: i64, Ppm, "weight of DRAM activity";
        tensor_ppm: i64, Ppm, "weight of tensor activity";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A price. Specificity: team, then task type, pool, model, tier; ties cannot be imported.
    RateRow: "rate", grain "selector x interval", key ["rate_id"], by_day false {
        rate_id: i64, Id, "id of selectors, from and price: the rate version";
        team: Option<String>, None, "team; absent: any";
        task_type: Option<String>, None, "task type; absent: any";
        pool: Option<String>, None, "pool; absent: any";
        model: Option<String>, None, "model; absent: any";
        tier: Option<String>, None, "tier; absent: any";
        price_micros: i64, PriceMicros, "price per GPU-hour in millionths of the currency";
        currency: String, None, "ISO 4217 code";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A part of who pays for a label, account or user. The parts of a key add up to 10 000 at any time.
    OwnerRow: "owner", grain "key x team x interval", key ["kind", "cluster", "value", "team", "cost_center", "from_ms"], by_day false {
        kind: String, None, "label, account or user, in order of precedence";
        cluster: Option<String>, None, "cluster; absent: any";
        value: String, None, "label as key=value, account or namespace, user; `*` is any that is present";
        team: String, None, "team; `{value}` stands for the value itself";
        cost_center: Option<String>, None, "cost centre";
        parts: i64, Count, "part of 10 000";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// GPUs, or a part of a pool, that a team may hold before it borrows. Exactly one of the two is present.
    QuotaRow: "quota", grain "team x pool x interval", key ["team", "pool", "from_ms"], by_day false {
        team: String, None, "team";
        pool: String, None, "pool";
        gpus: Option<i64>, Count, "GPUs";
        pool_share_ppm: Option<i64>, Ppm, "part of the pool";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A number a rule of findings goes by. The most specific row that is valid counts: team, then queue, task type.
    ThresholdRow: "threshold", grain "rule x name x scope x interval", key ["rule", "name", "task_type", "queue", "team", "from_ms"], by_day false {
        rule: String, None, "rule of findings; `all`: every rule";
        name: String, None, "what the number is, with its unit at the end";
        value_e4: i64, Count, "the number, in ten-thousandths of its unit";
        unit: String, None, "percent, times, minutes, hours or days";
        task_type: Option<String>, None, "task type; absent: any";
        queue: Option<String>, None, "queue; absent: any";
        team: Option<String>, None, "team; absent: any";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// What a run of a task type should ask for, of a team or of any. What is absent is not limited.
    SpecRow: "spec", grain "task type x team x interval", key ["task_type", "team", "from_ms"], by_day false {
        task_type: String, None, "task type";
        team: Option<String>, None, "team; absent: any that has no row of its own";
        tier: Option<String>, None, "recommended tier";
        gpu_mem_bytes: Option<i64>, Bytes, "most GPU memory, all cards of the run together";
        share_ppm: Option<i64>, Ppm, "most of one card";
        gpus: Option<i64>, Count, "most cards";
        max_hours: Option<i64>, Count, "longest run, in hours";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// What people say of a finding, from when on.
    FindingNoteRow: "finding_note", grain "finding x interval", key ["rule", "subject", "from_ms"], by_day false {
        rule: String, None, "rule of the finding";
        subject: String, None, "what it is about, as the finding shows it: cluster/job, or cluster/account/workload";
        state: String, None, "open, accepted, done or dismissed";
        reason: Option<String>, None, "why";
        by: String, None, "who says so";
        from_ms: i64, Instant, "when it was said";
        to_ms: Option<i64>, Instant, "until when it holds; absent: open";
    }
}

/// Every reference table, in the order in which they are published.
pub fn all() -> Vec<Table> {
    vec![
        InventoryRow::TABLE,
        PoolRow::TABLE,
        TierRow::TABLE,
        TaskTypeRuleRow::TABLE,
        TaskWeightRow::TABLE,
        RateRow::TABLE,
        OwnerRow::TABLE,
        QuotaRow::TABLE,
        ThresholdRow::TABLE,
        SpecRow::TABLE,
        FindingNoteRow::TABLE,
        TermsRow::TABLE,
        DiscountRow::TABLE,
        CostPoolRow::TABLE,
        EnergyPriceRow::TABLE,
        BudgetRow::TABLE,
        CostCenterRow::TABLE,
        ManualLineRow::TABLE,
        ContactRow::TABLE,
    ]
}
