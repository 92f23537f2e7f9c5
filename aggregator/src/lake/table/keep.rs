//! Keeping tables: many small files become few large ones, days go, and files that nobody names any more are removed.

use std::future::IntoFuture;
use std::num::NonZeroU64;

use datafusion::logical_expr::{col, lit};
use deltalake::DeltaTable;
use deltalake::operations::vacuum::VacuumMode;
use gpuledger_schema::table::Table;

use super::{Lake, LakeError, fail, quiet, writer_properties};

/// Size that compaction aims at.
const FILE_BYTES: NonZeroU64 = match NonZeroU64::new(128 << 20) {
    Some(bytes) => bytes,
    None => NonZeroU64::MIN,
};

/// What a compaction did to a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Files that were put together.
    pub files_before: u64,
    /// Files that they became.
    pub files_after: u64,
}

impl Lake {
    /// Puts small files of a table together, a partition at a time. Rows stay what they are; the version that is read by a cut
    /// stays readable.
    ///
    /// # Errors
    /// When the table cannot be opened, read or written.
    pub async fn compact(&self, spec: &Table) -> Result<Compacted, LakeError> {
        let Some(table) = self.table(spec.name).await? else { return Ok(Compacted::default()) };
        let compacting = table
            .optimize()
            .with_target_size(FILE_BYTES)
            .with_max_concurrent_tasks(1)
            .with_writer_properties(writer_properties(spec))
            .with_commit_properties(quiet());
        let (_, metrics) = compacting.await.map_err(fail("put files together of", spec.name))?;
        Ok(Compacted { files_before: metrics.num_files_removed, files_after: metrics.num_files_added })
    }

    /// Takes the rows of all UTC days before `day` out of a table that is partitioned by day. Gives the files that this made
    /// superfluous.
    ///
    /// # Errors
    /// When the table cannot be opened or written.
    pub async fn drop_days_before(&self, spec: &Table, day: i32) -> Result<usize, LakeError> {
        let Some(table) = self.table(spec.name).await? else { return Ok(0) };
        let removing = table
            .delete()
            .with_predicate(col("day").lt(lit(day)))
            .with_writer_properties(writer_properties(spec))
            .with_commit_properties(quiet());
        let (_, metrics) = removing.await.map_err(fail("take days out of", spec.name))?;
        Ok(metrics.num_removed_files)
    }

    /// Removes data files that neither the newest version nor one of `keep` names, and that were not in use since `keep_ms`
    /// before now. Gives what was removed; with `dry_run` what would be.
    ///
    /// # Errors
    /// When the table or one of the versions cannot be opened, or a file cannot be removed.
    pub async fn vacuum(
        &self,
        spec: &Table,
        keep: &[u64],
        keep_ms: i64,
        dry_run: bool,
    ) -> Result<Vec<String>, LakeError> {
        let failed = fail("remove old files of", spec.name);
        let folder = gpuledger_schema::path::table(spec.name);
        let asked = |table: DeltaTable, dry_run: bool| {
            let asked = table
                .vacuum()
                .with_mode(VacuumMode::Full)
                .with_retention_period(chrono::Duration::milliseconds(keep_ms))
                .with_enforce_retention_duration(false)
                .with_keep_versions(keep)
                .with_dry_run(dry_run)
                .with_commit_properties(quiet());
            asked.into_future()
        };
        let Some(table) = self.table(spec.name).await? else { return Ok(Vec::new()) };
        let (table, found) = asked(table, true).await.map_err(&failed)?;
        // the log remembers for some days what was removed before: that is not there to be removed again
        let mut there = Vec::new();
        for file in found.files_deleted {
            if self.size(&format!("{folder}/{file}")).await?.is_some() {
                there.push(file);
            }
        }
        if !dry_run && !there.is_empty() {
            asked(table, false).await.map_err(&failed)?;
        }
        Ok(there)
    }
}
