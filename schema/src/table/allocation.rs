//! `allocation`: one run of a job and what it was granted, in one reading.

super::table! {
    /// A run as one reading shows it. Terminal beats running, then the newer as-of counts.
    AllocationRow: "allocation", grain "run record", key ["allocation_id", "as_of_ms", "terminal"], by_day false {
        allocation_id: i64, Id, "id of cluster, raw job id and start";
        job_id: i64, Id, "the request record it came with";
        hint_id: i64, Id, "what process rows of this run carry";
        cluster: String, None, "cluster";
        job_raw: String, None, "raw job id, or pod UID";
        submit_ms: i64, Instant, "submit instant of its record";
        start_ms: i64, Instant, "start of the run";
        end_ms: Option<i64>, Instant, "recorded end; absent: none recorded, it counts to the as-of";
        terminal: bool, None, "whether the reading says that the run is over";
        state: String, None, "state";
        exit_code: Option<String>, None, "exit code as the scheduler writes it";
        nodes: Option<String>, None, "node list as the scheduler writes it; absent: it never got nodes or none was said";
        node_count: Option<i64>, Count, "nodes granted";
        gpu_units: i64, Count, "GPUs granted, in share units of a card (0: none)";
        gpu_count: i64, Count, "devices, instances or parts of one granted, as counted by the scheduler";
        gpu_exact: bool, None, "whether the share units are exact";
        model: Option<String>, None, "GPU model, where the record says it";
        cpus: Option<i64>, Count, "CPUs granted";
        mem_bytes: Option<i64>, Bytes, "host memory granted";
        gpu_mem_bytes: Option<i64>, Bytes, "GPU memory granted, where the source says";
        preemptible: Option<bool>, None, "whether it may be preempted";
        last_checkpoint_ms: Option<i64>, Instant, "last known checkpoint";
        suspended_ms: Option<i64>, Ms, "time suspended (its GPUs stay held)";
        sluid: Option<String>, None, "Slurm's id of the run";
        original_sluid: Option<String>, None, "Slurm's id of the first run of the job";
        source: String, None, "what it was read from";
        as_of_ms: i64, Instant, "as-of of that reading";
        end_reason: Option<String>, None, "why it ended or left its node, in the source's own word (OOMKilled, Evicted, NodeFail)";
        last_seen_ms: Option<i64>, Instant, "where a look no longer shows it and nothing says how it ended: the last look that did";
        image_pull_ms: Option<i64>, Instant, "when pulling its images began";
        image_ready_ms: Option<i64>, Instant, "when its images were there";
        container_start_ms: Option<i64>, Instant, "when its first container that holds a GPU (or its batch step) started";
    }
}
