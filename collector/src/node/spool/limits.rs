//! Every bound of the spool, each with its reason.

use serde::Deserialize;

/// Bounds of a spool. In the configuration every key may be left out; one that is not listed here stops the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Ticks in a sealed pair, by their numbers: pairs of a few minutes keep files few and the ledger fresh. 5.
    pub seal_ticks: u32,
    /// What the spool may take on disk, in all. 256 MiB, about a month of a node with 8 GPUs and 64 processes.
    pub spool_max_bytes: u64,
    /// Ticks kept in memory while the disk takes none. 30.
    pub kept_max_ticks: usize,
    /// Bytes those ticks may take. 4 MiB: the collector has to stay small when the disk is full, too.
    pub kept_max_bytes: usize,
    /// Pause after the first failed delivery; it doubles with each further one. 1 s.
    pub retry_first_ms: i64,
    /// Longest pause between deliveries. 5 minutes: a lake that is back is noticed within that.
    pub retry_max_ms: i64,
    /// Files sent in one call, so that a lake back after weeks does not hold up the polls. 64.
    pub send_max_files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            seal_ticks: 5,
            spool_max_bytes: 256 << 20,
            kept_max_ticks: 30,
            kept_max_bytes: 4 << 20,
            retry_first_ms: 1_000,
            retry_max_ms: 300_000,
            send_max_files: 64,
        }
    }
}

/// A bound with which a spool cannot work.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{key} must be at least {least}")]
pub struct LimitsError {
    /// The key.
    pub key: &'static str,
    /// Its least value.
    pub least: u64,
}

impl Limits {
    /// Refuses what no spool can work with.
    pub fn checked(self) -> Result<Self, LimitsError> {
        let least = |key, ok: bool, least| if ok { Ok(()) } else { Err(LimitsError { key, least }) };
        least("seal_ticks", self.seal_ticks >= 1, 1)?;
        least("spool_max_bytes", self.spool_max_bytes >= 65_536, 65_536)?;
        least("kept_max_ticks", self.kept_max_ticks >= 1, 1)?;
        least("kept_max_bytes", self.kept_max_bytes >= 65_536, 65_536)?;
        least("retry_first_ms", self.retry_first_ms >= 1, 1)?;
        least("retry_max_ms", self.retry_max_ms >= self.retry_first_ms, self.retry_first_ms.unsigned_abs())?;
        least("send_max_files", self.send_max_files >= 1, 1)?;
        Ok(self)
    }
}
