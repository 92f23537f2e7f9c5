//! `allocation_device`: which device a run holds, with what share, or how many GPUs on which node.

super::table! {
    /// A holding. `device_id` absent: `share_units` GPUs somewhere on the node, or on the cluster if no node is named.
    AllocationDeviceRow: "allocation_device", grain "run x device (or node) x interval", key ["holding_id", "as_of_ms"], by_day false {
        holding_id: i64, Id, "id of allocation, device or node, evidence and from";
        allocation_id: i64, Id, "run";
        cluster: String, None, "cluster";
        node: Option<String>, None, "node, where known";
        device_id: Option<i64>, Id, "physical GPU, where named";
        instance_id: Option<i64>, Id, "MIG instance, where named";
        model: Option<String>, None, "GPU model, where the source says it";
        share_units: i64, Count, "share of the card (or GPUs on the node) in share units";
        evidence: String, None, "kubelet, cgroup, gres, process or count";
        gres_index: Option<i64>, Count, "index of the device on its node as Slurm numbers them; the ledger finds the device by `index_rule`";
        index_rule: Option<String>, None, "what that index counts: minor (by minor number) or nvml (by PCI address)";
        from_ms: Option<i64>, Instant, "start; absent: the run's";
        to_ms: Option<i64>, Instant, "end; absent: the run's";
        as_of_ms: i64, Instant, "as-of of the reading";
    }
}
