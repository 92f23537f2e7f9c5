//! Whether the collector does its work: one rule, in words.

/// A tick is a minute; three without one are no coincidence.
pub const READY_MS: i64 = 180_000;

/// Ready where a tick was written within [`READY_MS`]; else the reason. `lag_ms` is the age of the newest tick.
pub fn readiness(lag_ms: Option<i64>, problem: Option<&str>) -> Result<String, String> {
    let because = problem.map(|why| format!(": {why}")).unwrap_or_default();
    match lag_ms {
        Some(lag) if lag <= READY_MS => Ok(format!("ready: the newest tick was written {} s ago", lag / 1_000)),
        Some(lag) => Err(format!("not ready: no tick was written for {} s{because}", lag / 1_000)),
        None => Err(format!("not ready: no tick was written since the start{because}")),
    }
}
