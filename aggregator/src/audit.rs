//! Heads of the audit log, kept in the lake: the log is in the control file, and a tail that is cut off there shows only by
//! what is kept elsewhere. One small document a change, written create-if-absent and never again; and one in the document of
//! each close.

use gpuledger_control::{Control, ControlError, Head, NotAHead};
use gpuledger_schema::path::{self, Numbered};
use serde::{Deserialize, Serialize};

use crate::close::Manifest;
use crate::lake::{Lake, LakeError};

/// Why a head could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The control file failed.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The document of a close names something else.
    #[error("the head of the audit log in the close of {period}")]
    Close {
        /// The period.
        period: String,
        /// What stands there.
        #[source]
        source: NotAHead,
    },
}

/// A head as a document: `audit/<seq>`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadDocument {
    seq: i64,
    hash: String,
}

/// Keeps the newest entry of the log in the lake. A head that is there stays as it is: whether it is the same is for
/// [`heads`] and a verification to say.
///
/// # Errors
/// When the control file or the lake fails.
pub async fn keep_head(lake: &Lake, control: &Control) -> Result<(), AuditError> {
    let Some(Head { seq, hash }) = control.audit_head()? else { return Ok(()) };
    let name = Numbered(seq.unsigned_abs()).file_name();
    lake.create_document(&format!("{}/{name}", path::AUDIT), &HeadDocument { seq, hash }).await?;
    Ok(())
}

/// Every head that was kept: one a change, oldest first, then those of closes.
///
/// # Errors
/// When the lake fails, or a document does not read.
pub async fn heads(lake: &Lake) -> Result<Vec<Head>, AuditError> {
    let mut heads = Vec::new();
    for (name, _) in lake.list(path::AUDIT).await? {
        let Some(number) = Numbered::parse(&name) else { continue };
        if let Some(HeadDocument { seq, hash }) = lake.document(path::AUDIT, number).await? {
            heads.push(Head { seq, hash });
        }
    }
    for close in Manifest::all(lake).await? {
        if let Some(text) = close.audit_head {
            heads.push(text.parse().map_err(|source| AuditError::Close { period: close.period, source })?);
        }
    }
    Ok(heads)
}
