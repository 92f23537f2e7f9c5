//! `usage`, `run`, `request`, `unit`, `session_day`, `device_mismatch`: what the ledger publishes.

use arrow_schema::DataType;

use super::{Column, Table};
use crate::unit::Unit;

const fn col(name: &'static str, data_type: DataType, nullable: bool, unit: Unit, meaning: &'static str) -> Column {
    Column { name, data_type, nullable, unit, meaning }
}

fn ms(name: &'static str, meaning: &'static str) -> Column {
    col(name, DataType::Int64, false, Unit::Ms, meaning)
}

/// One maximal interval of constant holding of a device (or stand-in) inside a cell, per holder.
pub const USAGE: Table = Table {
    name: "usage",
    grain: "unit x cell x holder x interval",
    key: &["unit_id", "cell", "holder", "from_ms"],
    by_day: true,
    columns: || {
        vec![
            col("day", DataType::Int32, false, Unit::Day, "UTC day (partition)"),
            col("unit_id", DataType::Int64, false, Unit::Id, "device, or stand-in for devices nobody named"),
            col("cell", DataType::Int64, false, Unit::Cell, "15-minute cell"),
            col("holder", DataType::Int64, false, Unit::Id, "allocation; 0: nobody"),
            col("from_ms", DataType::Int64, false, Unit::Instant, "start of the interval"),
            col("to_ms", DataType::Int64, false, Unit::Instant, "end of the interval"),
            ms("busy_ms", "held, measured, kernels of the holder ran"),
            ms("held_idle_ms", "held, measured, nothing of the holder ran: waste"),
            ms("held_unmeasured_ms", "held, not measured: neither waste nor busy"),
            ms("unallocated_ms", "nobody's, and in service"),
            ms("unavailable_ms", "failed, drained, down or in maintenance"),
            ms("unobserved_ms", "nobody's, and nobody looked"),
            ms("covered_ms", "measured part of the held time"),
            col(
                "effective_ms",
                DataType::Int64,
                true,
                Unit::Ms,
                "covered (or held, for an average) x composite; absent: not measured",
            ),
            ms("held_zero_ms", "memo: covered time of ticks in which the holder ran nothing at all"),
            ms("over_share_ms", "memo: busy beyond what was granted"),
            ms("conflict_ms", "memo: asked for and not granted, because the card was full"),
            ms("estimated_ms", "memo: held by bridging a gap of telemetry"),
            ms("foreign_ms", "memo: busy time of processes outside the allocation that holds the card"),
            col("mem_peak_bytes", DataType::Int64, true, Unit::Bytes, "highest GPU memory of the holder in the cell"),
            col(
                "energy_mj",
                DataType::Int64,
                true,
                Unit::Millijoules,
                "energy of the device in the cell, on the row of its greatest holder",
            ),
            col(
                "basis",
                DataType::Utf8,
                true,
                Unit::None,
                "what effective was computed from: sm, sm+dram, sm+dram+tensor, gpu",
            ),
            col(
                "capacity_unknown",
                DataType::Boolean,
                false,
                Unit::None,
                "no device or inventory is known: capacity is what was held",
            ),
            col(
                "stranded_ms",
                DataType::Int64,
                true,
                Unit::Ms,
                "memo: unallocated part of a card of which somebody holds the rest; absent: a stand-in, no card is named",
            ),
        ]
    },
};

/// Who a holder is: the facts of a run by which usage is grouped.
pub const RUN: Table = Table {
    name: "run",
    grain: "allocation",
    key: &["holder"],
    by_day: false,
    columns: || {
        let id = |n, m| col(n, DataType::Int64, false, Unit::Id, m);
        let text = |n, m| col(n, DataType::Utf8, true, Unit::None, m);
        let int = |n, u, m| col(n, DataType::Int64, true, u, m);
        vec![
            id("holder", "allocation"),
            id("job_key", "job: the first request record of the chain of runs"),
            col("kind", DataType::Utf8, false, Unit::None, "scheduler, session or foreign"),
            text("cluster", "cluster"),
            text("job_raw", "raw job id, pod UID, or session"),
            int("attempt", Unit::Count, "number of the run in its job, from 1"),
            text("user", "user"),
            text("account", "account or namespace"),
            text("queue", "queue"),
            text("qos", "quality of service"),
            text("name", "job name"),
            text("labels", "labels"),
            text("workload_kind", "kind of workload"),
            col("task_type", DataType::Utf8, false, Unit::None, "task type by the rules at the start of the run"),
            text("model", "GPU model, where the record says it"),
            text("state", "state"),
            text("exit_code", "exit code"),
            int("first_submit_ms", Unit::Instant, "first submit of the job"),
            int("submit_ms", Unit::Instant, "submit of this record"),
            int("eligible_ms", Unit::Instant, "when it could have started"),
            int("start_ms", Unit::Instant, "start of the run"),
            int("end_ms", Unit::Instant, "end of the run, or the as-of it counts to"),
            col("open", DataType::Boolean, false, Unit::None, "no end recorded"),
            int("gpu_units", Unit::Count, "GPUs granted, in share units"),
            int("gpu_count", Unit::Count, "GPUs, instances or parts granted"),
            int("node_count", Unit::Count, "nodes granted"),
            int("cpus", Unit::Count, "CPUs granted"),
            int("mem_bytes", Unit::Bytes, "host memory granted"),
            int("gpu_mem_bytes", Unit::Bytes, "GPU memory granted"),
            int("req_gpu_units", Unit::Count, "GPUs asked for, in share units"),
            int("req_mem_bytes", Unit::Bytes, "host memory asked for"),
            int("req_gpu_mem_bytes", Unit::Bytes, "GPU memory asked for"),
            int("time_limit_ms", Unit::Ms, "time limit"),
            text("nodes", "node list"),
            text("source", "what it was read from"),
            text("array_job", "id of the array it is a task of"),
            int("array_task", Unit::Count, "index in the array"),
            text("het_leader", "raw id of the het job's leader, where it is a component"),
            text("workload_name", "name of the workload that owns it"),
            text("workload_uid", "UID of that workload"),
            int("workload_replicas", Unit::Count, "replicas that workload asks for"),
            text("priority_class", "priority class"),
            int("priority", Unit::Count, "priority"),
            text("pending_reason", "why it waited, in the scheduler's own word"),
            text("reservation", "reservation"),
            text("comment", "comment"),
            col("preemptible", DataType::Boolean, true, Unit::None, "whether it may be preempted; absent: not said"),
            int("last_checkpoint_ms", Unit::Instant, "last known checkpoint"),
            int("suspended_ms", Unit::Ms, "time suspended (its GPUs stay held)"),
            int(
                "last_seen_ms",
                Unit::Instant,
                "the last look that showed it, where a later one did not and no end is told",
            ),
            text("end_reason", "why it ended or left its node, in the source's own word"),
            int("image_pull_ms", Unit::Instant, "when pulling its images began"),
            int("image_ready_ms", Unit::Instant, "when its images were there"),
            int(
                "container_start_ms",
                Unit::Instant,
                "when its first container that holds a GPU (or its batch step) started",
            ),
            text("req_model", "GPU model asked for"),
            int("req_nodes", Unit::Count, "nodes asked for"),
            int("req_cpus", Unit::Count, "CPUs asked for"),
            int("limit_cpus_milli", Unit::Count, "CPU limit in thousandths of a CPU; absent: none"),
            int("limit_mem_bytes", Unit::Bytes, "host memory limit; absent: none"),
            text("sluid", "Slurm's id of the run"),
            text("original_sluid", "Slurm's id of the first run of the job"),
        ]
    },
};

/// What was asked for, whether it has started or not: one row a request record, by the newest reading of it.
pub const REQUEST: Table = Table {
    name: "request",
    grain: "request record",
    key: &["job_id"],
    by_day: false,
    columns: || {
        let id = |n, m| col(n, DataType::Int64, false, Unit::Id, m);
        let text = |n, m| col(n, DataType::Utf8, true, Unit::None, m);
        let int = |n, u, m| col(n, DataType::Int64, true, u, m);
        vec![
            id("job_id", "the request record"),
            id("job_key", "job: the first request record of the chain of runs"),
            col("cluster", DataType::Utf8, false, Unit::None, "cluster"),
            col("job_raw", DataType::Utf8, false, Unit::None, "raw job id, or pod UID"),
            col("state", DataType::Utf8, false, Unit::None, "state of the request by its newest reading"),
            col("waiting", DataType::Boolean, false, Unit::None, "whether it still waits at the end of what is known"),
            col(
                "tasks",
                DataType::Int64,
                false,
                Unit::Count,
                "tasks that it stands for (a pending array is one record)",
            ),
            col("submit_ms", DataType::Int64, false, Unit::Instant, "submit instant of this record"),
            int("eligible_ms", Unit::Instant, "when it could have started; absent: not said"),
            int("start_ms", Unit::Instant, "start of its first run; absent: none is known"),
            col(
                "waited_to_ms",
                DataType::Int64,
                false,
                Unit::Instant,
                "until when it is known to have waited: its first start, else the newest look that shows it pending, else \
                 the reading that says it no longer waits",
            ),
            text("user", "user"),
            text("account", "account or namespace"),
            text("queue", "queue"),
            text("qos", "quality of service"),
            text("name", "job name"),
            text("labels", "labels"),
            text("workload_kind", "kind of workload"),
            text("workload_name", "name of that workload"),
            text("array_job", "id of the array it is (a task of)"),
            text("het_leader", "raw id of the het job's leader, where it is a component"),
            int("req_gpu_units", Unit::Count, "GPUs that one task asks for, in share units; absent: not said"),
            text("req_model", "GPU model asked for"),
            int("req_nodes", Unit::Count, "nodes asked for"),
            int("req_cpus", Unit::Count, "CPUs asked for"),
            int("req_mem_bytes", Unit::Bytes, "host memory asked for"),
            int("req_gpu_mem_bytes", Unit::Bytes, "GPU memory asked for"),
            int("time_limit_ms", Unit::Ms, "time limit"),
            int("priority", Unit::Count, "priority"),
            text("priority_class", "priority class"),
            text("reservation", "reservation"),
            text("pending_reason", "why it waits or waited, in the scheduler's own word"),
            col("source", DataType::Utf8, false, Unit::None, "what it was read from"),
            col("as_of_ms", DataType::Int64, false, Unit::Instant, "as-of of that reading"),
        ]
    },
};

/// Where a scheduler's record of a run's devices and the cgroups of its processes disagree.
pub const DEVICE_MISMATCH: Table = Table {
    name: "device_mismatch",
    grain: "day x run x device by evidence",
    key: &["day", "holder", "device_id"],
    by_day: true,
    columns: || {
        let id = |n, m| col(n, DataType::Int64, false, Unit::Id, m);
        vec![
            col("day", DataType::Int32, false, Unit::Day, "UTC day (partition)"),
            id("holder", "allocation"),
            col("cluster", DataType::Utf8, false, Unit::None, "cluster"),
            col("node", DataType::Utf8, false, Unit::None, "node"),
            col(
                "record_device_id",
                DataType::Int64,
                true,
                Unit::Id,
                "a device that its record names and none of its processes used that day; absent: there is none left",
            ),
            id("device_id", "the device on which its processes ran, by their cgroup"),
            col(
                "first_tick_ms",
                DataType::Int64,
                false,
                Unit::Instant,
                "start of the first tick of the day that shows it",
            ),
        ]
    },
};

/// What a unit is: a device, or a stand-in for devices of a node or cluster that nobody named.
pub const UNIT: Table = Table {
    name: "unit",
    grain: "device or stand-in",
    key: &["unit_id"],
    by_day: false,
    columns: || {
        let text = |n, m| col(n, DataType::Utf8, true, Unit::None, m);
        vec![
            col("unit_id", DataType::Int64, false, Unit::Id, "device or stand-in"),
            col("kind", DataType::Utf8, false, Unit::None, "device, node or cluster"),
            text("cluster", "cluster"),
            text("node", "node"),
            text("model", "GPU model"),
            text("uuid", "driver UUID"),
            col("memory_bytes", DataType::Int64, true, Unit::Bytes, "memory of one card"),
            text("queue", "queue of the node"),
            text("interconnect", "interconnect domain"),
        ]
    },
};

/// Who held a device without a scheduler's word on a UTC day: sessions of a bare host and foreign use.
pub const SESSION_DAY: Table = Table {
    name: "session_day",
    grain: "day x holder",
    key: &["day", "holder"],
    by_day: true,
    columns: || {
        let text = |n, m| col(n, DataType::Utf8, true, Unit::None, m);
        vec![
            col("day", DataType::Int32, false, Unit::Day, "UTC day (partition)"),
            col("holder", DataType::Int64, false, Unit::Id, "session; below 0: foreign use, minus the device id"),
            col("kind", DataType::Utf8, false, Unit::None, "session or foreign"),
            text("cluster", "cluster"),
            text("node", "node"),
            text("user", "user"),
            text("command", "command"),
            text("hint", "the session in words"),
            col("from_ms", DataType::Int64, false, Unit::Instant, "first instant of the day in which it held"),
            col("to_ms", DataType::Int64, false, Unit::Instant, "end of the last"),
        ]
    },
};
