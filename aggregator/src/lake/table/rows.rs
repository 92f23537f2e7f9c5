//! Rows that belong to a close: appended, found by file, hashed, and taken out again where no close was made of them.

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::{col, lit};
use deltalake::protocol::SaveMode;
use futures::TryStreamExt;
use gpuledger_schema::hash::hex;
use gpuledger_schema::path;
use gpuledger_schema::table::Table;
use object_store::ObjectStoreExt;
use sha2::{Digest, Sha256};

use super::{Lake, LakeError, fail, quiet, writer_properties};

/// A data file of a table at a version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableFile {
    /// Path inside the lake.
    pub path: String,
    /// Its size, as the table has it.
    pub size_bytes: u64,
    /// UTC day of its rows, where the table is partitioned by day.
    pub day: Option<i32>,
}

/// What an object of the lake is, by its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digested {
    /// Its size.
    pub size_bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

impl Lake {
    /// Appends rows to a table, which is made where it is absent. Gives the version that has them.
    ///
    /// # Errors
    /// When the table cannot be opened or written.
    pub async fn append_rows(&self, spec: &Table, rows: Vec<RecordBatch>) -> Result<u64, LakeError> {
        let failed = fail("append to", spec.name);
        let table = self.create_or_open(spec).await?;
        if rows.iter().all(|b| b.num_rows() == 0) {
            return Ok(table.version().unwrap_or_default());
        }
        let written = table
            .write(rows)
            .with_save_mode(SaveMode::Append)
            .with_writer_properties(writer_properties(spec))
            .with_commit_properties(quiet())
            .await
            .map_err(failed)?;
        Ok(written.version().unwrap_or_default())
    }

    /// The data files of a table at a version, in order of their paths.
    ///
    /// # Errors
    /// When the version cannot be opened.
    pub async fn files_at(&self, spec: &Table, version: u64) -> Result<Vec<TableFile>, LakeError> {
        let table = self.table_at(spec.name, version).await?;
        let state = table.snapshot().map_err(fail("list files of", spec.name))?;
        let folder = path::table(spec.name);
        let mut files: Vec<TableFile> = (state.log_data().iter())
            .map(|file| {
                let inside = file.path().into_owned();
                let day = inside.strip_prefix("day=").and_then(|rest| rest.split('/').next()?.parse().ok());
                TableFile {
                    path: format!("{folder}/{inside}"),
                    size_bytes: u64::try_from(file.size()).unwrap_or_default(),
                    day,
                }
            })
            .collect();
        files.sort();
        Ok(files)
    }

    /// Size and SHA-256 of an object; absent is `None`. It is read in pieces.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn digest(&self, inside: &str) -> Result<Option<Digested>, LakeError> {
        let fail = |source| LakeError::Object { what: "read", object: inside.to_owned(), source };
        let found = match self.store.get(&self.at(inside)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(source) => return Err(fail(source)),
        };
        let (mut hash, mut size_bytes) = (Sha256::new(), 0);
        let mut pieces = found.into_stream();
        while let Some(piece) = pieces.try_next().await.map_err(fail)? {
            hash.update(&piece);
            size_bytes += piece.len() as u64;
        }
        let sha256 = hex(&hash.finalize());
        Ok(Some(Digested { size_bytes, sha256 }))
    }

    /// Takes the rows of one close out of a table.
    ///
    /// # Errors
    /// When the table cannot be opened or written.
    pub async fn remove_close(&self, spec: &Table, close_id: &str) -> Result<(), LakeError> {
        let Some(table) = self.table(spec.name).await? else { return Ok(()) };
        let removed = table
            .delete()
            .with_predicate(col("close_id").eq(lit(close_id)))
            .with_writer_properties(writer_properties(spec))
            .with_commit_properties(quiet());
        removed.await.map(|_| ()).map_err(fail("take rows out of", spec.name))
    }
}
