//! `queue_minute`: quota, held and queued GPUs over time, where a series of them is imported.

super::table! {
    /// A point of a series. It holds until the next one of the same team and pool, and no longer than `dur_ms` or than
    /// what the series' readings speak of.
    QueueMinuteRow: "queue_minute", grain "team (or pool) x instant", key ["cluster", "team", "pool", "at_ms"], by_day false {
        cluster: String, None, "cluster";
        team: String, None, "team; empty: the pool as a whole";
        pool: String, None, "pool; empty: the cluster as a whole";
        at_ms: i64, Instant, "from when these values hold";
        dur_ms: Option<i64>, Ms, "how long they hold at most: the series' own step; absent: until the next point";
        quota_units: Option<i64>, Count, "GPUs of the quota, in share units";
        held_units: Option<i64>, Count, "GPUs held, in share units";
        queued_units: Option<i64>, Count, "GPUs that waiting jobs ask for, in share units";
        queued_jobs: Option<i64>, Count, "jobs that wait";
        source: String, None, "what it was read from";
    }
}
