//! What ingest asks of a node: to seal more often for a while, because somebody waits for its minutes.

use std::path::{Path, PathBuf};

use gpuledger_schema::path::safe_writer;
use serde::Deserialize;

use super::disk::{Disk, DiskError};

/// Folder of a lake with the asks, beside the inbox: `ask/<node>.json`.
pub(super) const FOLDER: &str = "ask";

/// An ask. One that has run out asks for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Ticks after which to seal.
    pub seal_ticks: u32,
    /// Until when, epoch ms by the wall clock.
    pub until_ms: i64,
}

/// Why an ask is passed over. The node then seals as it always does.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It cannot be read.
    #[error("cannot read what is asked of this node")]
    Disk(#[source] DiskError),
    /// It is not an ask.
    #[error("{} is not an ask", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It asks for something impossible.
    #[error("{} asks to seal every 0 ticks", .path.display())]
    Zero {
        /// The file.
        path: PathBuf,
    },
}

impl Ask {
    /// The ask that lies in a lake's folder for a node, if one does.
    pub fn read(disk: &dyn Disk, lake: &Path, node: &str) -> Result<Option<Self>, AskError> {
        let path = lake.join(FOLDER).join(format!("{}.json", safe_writer(node)));
        match disk.read(&path).map_err(AskError::Disk)? {
            Some(bytes) => Self::parse(&bytes, path).map(Some),
            None => Ok(None),
        }
    }

    fn parse(bytes: &[u8], path: PathBuf) -> Result<Self, AskError> {
        match serde_json::from_slice::<Self>(bytes) {
            Ok(ask) if ask.seal_ticks == 0 => Err(AskError::Zero { path }),
            Ok(ask) => Ok(ask),
            Err(source) => Err(AskError::Json { path, source }),
        }
    }

    /// Ticks after which to seal now. An ask can make a node seal more often than usual, never less often.
    pub fn seal_ticks(ask: Option<Self>, usual: u32, wall_ms: i64) -> u32 {
        match ask {
            Some(ask) if wall_ms < ask.until_ms => ask.seal_ticks.clamp(1, usual.max(1)),
            _ => usual.max(1),
        }
    }
}

#[cfg(test)]
mod tests;
