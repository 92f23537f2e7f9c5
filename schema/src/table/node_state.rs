//! `node_state`: what a scheduler, or an import, says of a node's readiness.

super::table! {
    /// A node in a state. `up` proves that devices nobody holds are unallocated; the other states are unavailable.
    NodeStateRow: "node_state", grain "node x interval", key ["cluster", "node", "from_ms", "as_of_ms"], by_day false {
        cluster: String, None, "cluster";
        node: String, None, "node";
        from_ms: i64, Instant, "start";
        to_ms: Option<i64>, Instant, "end; absent: to the as-of";
        state: String, None, "up, drained, down or maintenance";
        reason: Option<String>, None, "why";
        source: String, None, "what it was read from";
        as_of_ms: i64, Instant, "as-of of the reading";
    }
}
