//! `device_minute`: what a device did during one tick of its collector.

super::table! {
    /// A tick of a device, as written: placement in true time is a ledger step.
    DeviceMinuteRow: "device_minute", grain "device x tick", key ["device_id", "boot_id", "seq"], by_day true {
        day: i32, Day, "UTC day of tick_ms (partition)";
        device_id: i64, Id, "device (a MIG instance has rows of its own)";
        boot_id: i64, Id, "boot of the node";
        seq: i64, Count, "number of the tick in that boot";
        collector_id: i64, Id, "collector that wrote it; orders two collectors of one node";
        tick_ms: i64, Instant, "start by the wall clock";
        mono_ms: i64, Ms, "start by the boot-time clock";
        dur_ms: i64, Ms, "length by the boot-time clock";
        synchronised: bool, None, "whether the kernel said that the wall clock was synchronised";
        state: String, None, "ok, lost, error, not_permitted or suspended";
        reason: Option<String>, None, "why it is not ok, or why measures are absent";
        process_count: i64, Count, "process rows that belong to this tick; fewer in the lake means unmeasured";
        gpu_util_ppm: Option<i64>, Ppm, "part of the tick in which any kernel ran";
        mem_util_ppm: Option<i64>, Ppm, "part of the tick in which memory was read or written";
        sm_ppm: Option<i64>, Ppm, "mean activity of the streaming multiprocessors";
        dram_ppm: Option<i64>, Ppm, "mean DRAM bandwidth activity";
        tensor_ppm: Option<i64>, Ppm, "mean tensor core activity";
        activity_source: Option<String>, None, "where the activities come from";
        mem_used_bytes: Option<i64>, Bytes, "memory in use";
        mem_reserved_bytes: Option<i64>, Bytes, "memory reserved by the driver";
        mem_total_bytes: Option<i64>, Bytes, "memory of the device";
        power_mw: Option<i64>, Milliwatts, "mean power";
        power_limit_mw: Option<i64>, Milliwatts, "enforced power limit";
        energy_mj: Option<i64>, Millijoules, "energy used during the tick";
        temperature_c: Option<i64>, Celsius, "temperature";
        limit_reasons: Option<String>, None, "why clocks were limited";
        ecc_uncorrected: Option<i64>, Count, "uncorrected ECC errors during the tick";
        xid: Option<i64>, Count, "last Xid error of the tick";
    }
}
