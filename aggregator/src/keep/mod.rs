//! Keeping a lake: daily upkeep, and copies of it elsewhere.
//!
//! Cells, charges and closed months stay for ever; minutes stay for 13 months after the period that they belong to was closed.
//! What a cut that is listed names can be read, and so can what the document of a close names, minutes excepted once they are
//! that old.

use crate::lake::LakeError;

mod backup;
mod maintain;
mod retention;

pub use backup::{BackupReport, backup, restore};
pub use maintain::{MaintainAsk, MaintainReport, TableReport, maintain};
pub(crate) use retention::minutes_are_gone;

/// Why a lake could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// There is something where a backup is to be restored.
    #[error("`{0}` has data: a backup is restored into an empty place")]
    NotEmpty(String),
    /// There is no backup.
    #[error("`{0}` is no backup: it has no `backup.json`")]
    NoBackup(String),
    /// The place has a backup of something else.
    #[error("`{at}` has cuts up to {there}, the lake only up to {here}: it is no backup of this lake")]
    OtherLake {
        /// The place.
        at: String,
        /// Newest cut there.
        there: u64,
        /// Newest cut here.
        here: u64,
    },
    /// A file that the copied tables name went away meanwhile.
    #[error("`{0}` is named by a table and is not there: run the backup again; if it stays, the lake is damaged")]
    Gone(String),
    /// There is nothing to copy.
    #[error("`{0}` has no cut yet: there is nothing to keep")]
    Nothing(String),
}
