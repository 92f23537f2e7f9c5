//! `process_minute`: what a process did on a device during one tick.

super::table! {
    /// A process on a device during a tick. `hint_id` says whom it may belong to; the ledger resolves it.
    ProcessMinuteRow: "process_minute", grain "device x process x tick", key ["device_id", "boot_id", "seq", "pid", "start_ticks"], by_day true {
        day: i32, Day, "UTC day of tick_ms (partition)";
        device_id: i64, Id, "physical GPU";
        instance_id: Option<i64>, Id, "MIG instance";
        boot_id: i64, Id, "boot of the node";
        seq: i64, Count, "number of the tick in that boot";
        tick_ms: i64, Instant, "start of the tick by the wall clock";
        hint_id: i64, Id, "id of cluster and job id, pod UID, or boot, session leader and its start";
        hint: String, None, "the same in words, e.g. slurm:alpha:4711";
        evidence: String, None, "what the hint was read from: cgroup, kubelet, slurm, environ, session, or none where the process was never seen alive";
        pid: i64, Count, "process id on the host";
        start_ticks: i64, Count, "start of the process in clock ticks since boot";
        user: String, None, "user name, or uid:<number> where it cannot be resolved";
        command: Option<String>, None, "command name";
        busy_ms: Option<i64>, Ms, "integrated SM time of the whole card spent on this process (a MIG instance: times its slices / the card's); absent: not measured";
        covered_ms: i64, Ms, "part of the tick in which it was looked at";
        peak_ppm: Option<i64>, Ppm, "highest poll of SM utilization";
        mem_peak_bytes: Option<i64>, Bytes, "highest memory seen";
        mem_peak_source: Option<String>, None, "polled, or accounting where the driver's own high-water mark was higher";
        sm_ppm: Option<i64>, Ppm, "SM activity of the whole card apportioned to it, in steps of 10 000";
        dram_ppm: Option<i64>, Ppm, "DRAM activity of the whole card apportioned to it, in steps of 10 000";
        tensor_ppm: Option<i64>, Ppm, "tensor activity of the whole card apportioned to it, in steps of 10 000";
        composite_ppm: Option<i64>, Ppm, "composite by the weights the node knew; reports recompute it";
        weights_version: Option<i64>, Count, "version of those weights";
        apportionment: String, None, "exclusive, sm_share or none";
        cpu_ms: Option<i64>, Ms, "CPU time used during the tick";
        host_rss_bytes: Option<i64>, Bytes, "resident memory on the host";
        read_bytes: Option<i64>, Bytes, "bytes read from storage during the tick";
        io_wait_ms: Option<i64>, Ms, "time waiting for storage during the tick";
        state: Option<String>, None, "process state letter";
        reason: Option<String>, None, "why measures of this row are absent";
    }
}
