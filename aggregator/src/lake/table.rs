//! Delta tables of the lake: create, append, replace days, and open at a version.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{LogicalPlanBuilder, col, ident, lit};
use datafusion::parquet::basic::{Compression, Encoding, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::schema::types::ColumnPath;
use deltalake::kernel::transaction::CommitProperties;
use deltalake::kernel::{StructType, Transaction, engine::arrow_conversion::TryIntoKernel};
use deltalake::protocol::SaveMode;
use deltalake::{DeltaTable, DeltaTableBuilder, DeltaTableError};
use gpuledger_schema::path;
use gpuledger_schema::table::Table;
use url::Url;

use super::{Lake, LakeError};

mod keep;
mod rows;

pub use keep::Compacted;
pub use rows::{Digested, TableFile};

/// A Delta table failed; the message names table and operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} table `{table}`")]
pub struct TableError {
    /// The operation.
    pub what: &'static str,
    /// The table.
    pub table: String,
    /// Why.
    #[source]
    pub source: Box<DeltaTableError>,
}

/// Columns that count up row by row: as differences they are smaller than in a dictionary, and cheaper to write.
const COUNTING: &[&str] = &["tick_ms", "mono_ms", "seq"];

/// Marks a commit as batch or build `number` of `app`, so that a repeat after a crash skips it.
const INGEST_APP: &str = "gpuledger.ingest";

fn fail(what: &'static str, table: &str) -> impl Fn(DeltaTableError) -> LakeError {
    let table = table.to_owned();
    move |source| LakeError::Table(TableError { what, table: table.clone(), source: Box::new(source) })
}

fn writer_properties(spec: &Table) -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let mut builder = WriterProperties::builder().set_compression(Compression::ZSTD(level));
    for column in (spec.columns)().iter().filter(|c| COUNTING.contains(&c.name)) {
        let path = ColumnPath::from(column.name);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// Lets Delta commit over a store of this scheme the way it does in a folder: by creating the next log entry, which
/// only one writer can.
pub(super) fn speak(scheme: &str) {
    let registry = deltalake::logstore::logstore_factories();
    let key = |s: &str| Url::parse(&format!("{s}://")).ok();
    let folder = key("file").and_then(|k| registry.get(&k).map(|f| Arc::clone(f.value())));
    if let Some((scheme, factory)) = key(scheme).zip(folder) {
        registry.entry(scheme).or_insert(factory);
    }
}

/// A table of an older writer with the columns that it lacks.
fn widened(spec: &Table, found: Arc<dyn TableProvider>) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let (has, wants) = (found.schema(), spec.schema());
    if wants.fields().iter().all(|f| has.field_with_name(f.name()).is_ok()) {
        return Ok(found);
    }
    let columns = wants.fields().iter().map(|f| {
        if has.field_with_name(f.name()).is_ok() {
            return Ok(ident(f.name()));
        }
        // text is read as a view, as it is from files
        let kind = if f.data_type() == &DataType::Utf8 { &DataType::Utf8View } else { f.data_type() };
        Ok(lit(ScalarValue::try_from(kind)?).alias(f.name()))
    });
    let columns = columns.collect::<Result<Vec<_>, DataFusionError>>()?;
    let plan = LogicalPlanBuilder::scan(spec.name, provider_as_source(found), None)?.project(columns)?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// Every commit of ours: the log of a table keeps what is old, because closes name versions.
fn quiet() -> CommitProperties {
    CommitProperties::default().with_cleanup_expired_logs(Some(false))
}

impl Lake {
    async fn builder(&self, name: &str) -> Result<DeltaTableBuilder, LakeError> {
        let url = self.url(&path::table(name))?;
        let builder = DeltaTableBuilder::from_url(url.clone()).map_err(fail("locate", name))?;
        // a folder is opened by path; any other lake through the store that it was opened with
        Ok(if self.folder().is_some() { builder } else { builder.with_storage_backend(Arc::clone(&self.store), url) })
    }

    /// The newest version of a table; `None` where it was never made.
    pub async fn table(&self, name: &str) -> Result<Option<DeltaTable>, LakeError> {
        // a folder that is not there is no fault of its table, but the library's error does not tell them apart
        let there = match self.folder() {
            Some(folder) => folder.join(path::table(name)).exists(),
            None => !self.list(&format!("{}/_delta_log", path::table(name))).await?.is_empty(),
        };
        if !there {
            return Ok(None);
        }
        match self.builder(name).await?.load().await {
            Ok(found) => Ok(Some(found)),
            Err(DeltaTableError::NotATable(_) | DeltaTableError::InvalidTableLocation(_)) => Ok(None),
            Err(e) => Err(fail("open", name)(e)),
        }
    }

    /// A table as of a version.
    pub async fn table_at(&self, name: &str, version: u64) -> Result<DeltaTable, LakeError> {
        self.builder(name).await?.with_version(version).load().await.map_err(fail("open", name))
    }

    /// What DataFusion reads for a table at a version; columns that it did not have yet are NULL.
    pub async fn provider_at(&self, spec: &Table, version: u64) -> Result<Arc<dyn TableProvider>, LakeError> {
        let failed = fail("read", spec.name);
        let table = self.table_at(spec.name, version).await?;
        let found = table.table_provider().await.map_err(|e| failed(e.into()))?;
        widened(spec, found).map_err(|e| failed(e.into()))
    }

    async fn create(&self, spec: &Table) -> Result<DeltaTable, LakeError> {
        let failed = fail("create", spec.name);
        if let Some(folder) = self.folder() {
            super::make_folder(&folder.join(path::table(spec.name)))
                .map_err(|e| LakeError::Open { at: self.shown.clone(), source: Box::new(e) })?;
        }
        let table = self.builder(spec.name).await?.build().map_err(&failed)?;
        let kernel: StructType =
            spec.schema().as_ref().try_into_kernel().map_err(|e| failed(DeltaTableError::Arrow { source: e }))?;
        let mut create = table
            .create()
            .with_table_name(spec.name)
            .with_comment(spec.grain)
            .with_columns(kernel.fields().cloned())
            .with_configuration_property(deltalake::TableProperty::CheckpointInterval, Some("50"))
            .with_configuration_property(deltalake::TableProperty::EnableExpiredLogCleanup, Some("false"));
        if spec.by_day {
            create = create.with_partition_columns(["day"]);
        }
        create.await.map_err(failed)
    }

    /// The table with every column of `spec`: what came later is added to a table that was made before.
    async fn create_or_open(&self, spec: &Table) -> Result<DeltaTable, LakeError> {
        let Some(found) = self.table(spec.name).await? else { return self.create(spec).await };
        let failed = fail("add columns to", spec.name);
        let has = found.snapshot().map_err(&failed)?.schema();
        let lacks: Vec<Field> = (spec.schema().fields().iter())
            .filter(|f| has.field(f.name()).is_none())
            .map(|f| f.as_ref().clone().with_nullable(true))
            .collect();
        if lacks.is_empty() {
            return Ok(found);
        }
        let lacks: StructType =
            (&Schema::new(lacks)).try_into_kernel().map_err(|e| failed(DeltaTableError::Arrow { source: e }))?;
        let fields: Vec<_> = lacks.fields().cloned().collect();
        found.add_columns().with_fields(fields).await.map_err(failed)
    }

    /// Appends batch `number` to a table, once: a repeat finds it there and changes nothing. Gives the version.
    pub async fn append(&self, spec: &Table, number: u64, rows: Vec<RecordBatch>) -> Result<u64, LakeError> {
        let failed = fail("append to", spec.name);
        let table = self.create_or_open(spec).await?;
        let log = table.log_store();
        let done = table.snapshot().map_err(&failed)?.transaction_version(log.as_ref(), INGEST_APP).await;
        let version = table.version().unwrap_or_default();
        if done.map_err(&failed)?.is_some_and(|d| d >= number as i64) {
            return Ok(version);
        }
        if rows.iter().all(|b| b.num_rows() == 0) {
            return Ok(version);
        }
        let properties = quiet().with_application_transaction(Transaction::new(INGEST_APP, number as i64));
        let written = table
            .write(rows)
            .with_save_mode(SaveMode::Append)
            .with_writer_properties(writer_properties(spec))
            .with_commit_properties(properties)
            .await
            .map_err(failed)?;
        Ok(written.version().unwrap_or_default())
    }

    /// Replaces the rows of UTC days `from..to` of a derived table. Gives the version.
    pub async fn replace_days(&self, spec: &Table, days: (i32, i32), rows: Vec<RecordBatch>) -> Result<u64, LakeError> {
        let predicate = col("day").gt_eq(lit(days.0)).and(col("day").lt(lit(days.1)));
        self.overwrite(spec, Some(predicate), rows).await
    }

    /// Replaces all rows of a table. Gives the version.
    pub async fn replace_all(&self, spec: &Table, rows: Vec<RecordBatch>) -> Result<u64, LakeError> {
        self.overwrite(spec, None, rows).await
    }

    async fn overwrite(
        &self,
        spec: &Table,
        predicate: Option<datafusion::logical_expr::Expr>,
        mut rows: Vec<RecordBatch>,
    ) -> Result<u64, LakeError> {
        let failed = fail("replace rows of", spec.name);
        let table = self.create_or_open(spec).await?;
        if rows.is_empty() {
            rows.push(RecordBatch::new_empty(spec.schema()));
        }
        let mut write = table
            .write(rows)
            .with_save_mode(SaveMode::Overwrite)
            .with_writer_properties(writer_properties(spec))
            .with_commit_properties(quiet());
        if let Some(predicate) = predicate {
            write = write.with_replace_where(predicate);
        }
        let written = write.await.map_err(failed)?;
        Ok(written.version().unwrap_or_default())
    }
}
