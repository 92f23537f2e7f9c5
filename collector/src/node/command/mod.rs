//! What the binary does, a file a command. The binary parses and prints; these do.

use super::spool::{LockError, OpenError};
use super::watch::WatchError;

pub mod calibrate;
pub mod doctor;
pub mod node;
pub mod once;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Nothing can be watched.
    #[error("nothing can be watched")]
    Watch(#[source] WatchError),
    /// Another collector has the spool, or it cannot be locked.
    #[error("the spool cannot be taken")]
    Lock(#[source] LockError),
    /// The spool cannot be opened.
    #[error("the spool cannot be opened")]
    Spool(#[source] OpenError),
    /// Signals cannot be waited for.
    #[error("signals cannot be waited for")]
    Signal(#[source] std::io::Error),
    /// Only a new process helps; the supervisor starts one.
    #[error("only a new process helps: {0}")]
    Exit(String),
    /// The load of a calibration.
    #[error("the load `{program}` cannot be run")]
    Load {
        /// Its program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// Rows that cannot be written as text.
    #[error("rows cannot be written as text")]
    Text(#[source] serde_json::Error),
}
