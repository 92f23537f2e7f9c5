//! `node_offer`: how many GPUs a scheduler offers on a node.

super::table! {
    /// What a scheduler would hand out on a node. The newest as-of of a (cluster, node, resource) counts from it on.
    NodeOfferRow: "node_offer", grain "node x resource x reading", key ["cluster", "node", "resource", "as_of_ms"], by_day false {
        cluster: String, None, "cluster";
        node: String, None, "node";
        resource: String, None, "GRES or extended resource, e.g. gpu:h100, nvidia.com/mig-1g.10gb";
        count: i64, Count, "how many of them the node has by the scheduler's configuration; 0: no longer offered";
        allocatable: Option<i64>, Count, "how many of them may be given out";
        unit_units: i64, Count, "share of a card one of them stands for, in share units";
        model: Option<String>, None, "GPU model, where the resource or a node label says it";
        queues: Option<String>, None, "queues the node belongs to, one a line, sorted";
        features: Option<String>, None, "features or labels by which jobs choose nodes, one a line, sorted";
        cpus: Option<i64>, Count, "CPUs of the node";
        mem_bytes: Option<i64>, Bytes, "host memory of the node";
        source: String, None, "what it was read from";
        as_of_ms: i64, Instant, "as-of of the reading";
    }
}
