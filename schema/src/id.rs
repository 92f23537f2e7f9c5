//! Hot-path ids: the first 63 bits of SHA-256 of a natural key, equal on every machine and in every order.

use sha2::{Digest, Sha256};

/// Separates the parts of a natural key; it cannot stand in a scheduler's or a driver's names.
const SEPARATOR: u8 = 0x1f;

/// The id of the natural key `parts` of one `kind` of thing: never negative, and never 0 (0 means "nobody").
pub fn id63(kind: &str, parts: &[&str]) -> i64 {
    let mut hash = Sha256::new();
    hash.update(kind.as_bytes());
    for part in parts {
        hash.update([SEPARATOR]);
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut head = [0u8; 8];
    head.copy_from_slice(&digest[..8]);
    ((u64::from_be_bytes(head) >> 1) as i64).max(1)
}

/// A physical GPU (or MIG instance) by its driver UUID, e.g. `GPU-6f3c...`.
pub fn device_id(uuid: &str) -> i64 {
    id63("device", &[uuid])
}

/// A request: scheduler cluster, raw job id (or workload UID) and the submit instant of this record.
pub fn job_id(cluster: &str, job_raw: &str, submit_ms: i64) -> i64 {
    id63("job", &[cluster, job_raw, &submit_ms.to_string()])
}

/// One run: cluster, raw job id (pod UID) and the instant the run started.
pub fn allocation_id(cluster: &str, job_raw: &str, start_ms: i64) -> i64 {
    id63("allocation", &[cluster, job_raw, &start_ms.to_string()])
}

/// What a process row can say about whom it belongs to before anybody resolves it: cluster and raw job id.
pub fn hint_of_job(cluster: &str, job_raw: &str) -> i64 {
    id63("hint", &[cluster, job_raw])
}

/// On a bare host the session leader is the allocation: node, boot, leader pid and its start ticks.
pub fn hint_of_session(node: &str, boot: &str, leader: &str, start: &str) -> i64 {
    id63("hint", &["session", node, boot, leader, start])
}

/// A boot of a node.
pub fn boot_id(node: &str, boot: &str) -> i64 {
    id63("boot", &[node, boot])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_across_builds_and_never_negative() {
        assert_eq!(id63("device", &["GPU-0"]), device_id("GPU-0"));
        assert!(device_id("GPU-0") > 0);
        assert_ne!(id63("a", &["b", "c"]), id63("a", &["bc"]));
        assert_ne!(id63("a", &["b"]), id63("ab", &[]));
        assert_eq!(id63("pin", &["one"]), 6_906_609_008_571_595_366);
    }
}
