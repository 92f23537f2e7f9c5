//! `device_claim`: what a node itself says of who was given a device, whether or not a process of theirs ever ran.

super::table! {
    /// A device (or part of one) given to a run, by the node's own records. The newest as-of of a key counts.
    DeviceClaimRow: "device_claim", grain "device x holder x interval", key ["claim_id", "as_of_ms"], by_day false {
        claim_id: i64, Id, "id of device, instance, hint, evidence and from";
        cluster: String, None, "cluster of the node";
        node: String, None, "host name";
        device_id: i64, Id, "physical GPU";
        instance_id: Option<i64>, Id, "MIG instance, where one was given";
        hint_id: i64, Id, "whom it was given to: the same id as in process rows";
        hint: String, None, "the same in words, e.g. k8s:<pod UID> or slurm:alpha:4711";
        evidence: String, None, "kubelet (pod-resources) or slurm (the node's own facts)";
        share_units: i64, Count, "share of the card in share units: whole, slices of the instance, or 1 of so many replicas";
        container: Option<String>, None, "container of the pod";
        resource: Option<String>, None, "resource name it was asked for by, e.g. nvidia.com/gpu.shared";
        from_ms: i64, Instant, "first look that showed it";
        to_ms: Option<i64>, Instant, "first look that did not show it any more; absent: still given at the as-of";
        as_of_ms: i64, Instant, "as-of of the look";
    }
}
