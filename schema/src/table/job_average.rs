//! `job_average`: averages over a whole run that a scheduler or job database gives.

super::table! {
    /// One measured average of a run.
    JobAverageRow: "job_average", grain "run x measure", key ["allocation_id", "measure", "as_of_ms"], by_day false {
        allocation_id: i64, Id, "run";
        measure: String, None, "gpu_util, sm, dram, tensor (ppm); gpu_mem_used, gpu_mem_peak, host_mem_used (bytes); cpu_load (ppm of a core)";
        unit: String, None, "ppm or bytes";
        value: i64, Count, "the average in that unit, mean over the run's GPUs for parts, sum over them for bytes";
        source: String, None, "what it was read from";
        as_of_ms: i64, Instant, "as-of of the reading";
    }
}
