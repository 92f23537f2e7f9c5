//! `sample`: per-process samples of a host as sonar prints them, as they were read.

super::table! {
    /// A process (or group of them) seen at one sample of its host. What time it stands for is a ledger step.
    SampleRow: "sample", grain "row of a sample", key ["sample_id"], by_day false {
        sample_id: i64, Id, "id of all fields and the ordinal among equal rows";
        cluster: String, None, "cluster the host was imported under";
        node: String, None, "host";
        stamp_ms: i64, Instant, "when the host was sampled";
        hw_threads: Option<i64>, Count, "hardware threads of the host";
        user: String, None, "user";
        job: String, None, "process group";
        command: String, None, "command";
        cpu_ppm: Option<i64>, Ppm, "CPU use; one core is 1 000 000";
        mem_bytes: Option<i64>, Bytes, "host memory";
        gpu_mask: i64, Count, "GPUs in use, bit n is GPU n";
        gpu_ppm: Option<i64>, Ppm, "GPU use, summed over its GPUs; one GPU is 1 000 000";
        gpu_mem_ppm: Option<i64>, Ppm, "GPU memory, part of its GPUs' memory";
        gpu_mem_bytes: Option<i64>, Bytes, "GPU memory";
    }
}
