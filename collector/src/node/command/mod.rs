//! What the binary does, a file a command. The binary parses and prints; these do.

pub mod calibrate;
pub mod doctor;
pub mod node;
pub mod once;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It stands here and is not connected yet.
    #[error("`{0}` is not wired in this build")]
    NotWired(&'static str),
}
