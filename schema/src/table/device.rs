//! `device`: a physical GPU or a MIG instance of one, in one version of its facts.

super::table! {
    /// A device version. It is known from `first_seen_ms` to `retired_ms`, the next version, or the as-of.
    DeviceRow: "device", grain "device version", key ["device_id", "first_seen_ms"], by_day false {
        device_id: i64, Id, "id of the driver's UUID";
        first_seen_ms: i64, Instant, "when this version of the facts was first seen";
        retired_ms: Option<i64>, Instant, "when it was taken out, where somebody said so";
        cluster: String, None, "cluster of its node";
        node: String, None, "host name";
        uuid: String, None, "driver UUID (GPU-..., MIG-...), or the writer's own stable name";
        parent_id: Option<i64>, Id, "physical GPU of a MIG instance";
        model: Option<String>, None, "model name as the driver gives it";
        memory_bytes: Option<i64>, Bytes, "memory as the driver gives it";
        mig_profile: Option<String>, None, "profile of a MIG instance, e.g. 1g.10gb";
        compute_slices: Option<i64>, Count, "compute slices of a MIG instance";
        card_slices: Option<i64>, Count, "compute slices of the whole card";
        interconnect: Option<String>, None, "interconnect domain";
        compute_capability: Option<String>, None, "CUDA compute capability, e.g. 9.0";
        driver: Option<String>, None, "driver version";
        minor: Option<i64>, Count, "minor number of its device file";
        pci: Option<String>, None, "PCI bus id";
        queue: Option<String>, None, "queue its node belongs to, where known";
        scheduler: String, None, "slurm, kubernetes or none: what the node's collector was told runs there";
    }
}
