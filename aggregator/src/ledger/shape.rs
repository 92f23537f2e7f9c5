//! What a statement gave, in the types of the table that it is published as.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use gpuledger_schema::table::Table;

use super::LedgerError;

/// Casts what a statement gave to the table's own types and nullability.
pub(super) fn shaped(spec: &Table, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, LedgerError> {
    let schema = spec.schema();
    let shape = || LedgerError::Shape { table: spec.name };
    batches
        .into_iter()
        .map(|b| {
            let columns = schema
                .fields()
                .iter()
                .map(|f| {
                    let column = b.column_by_name(f.name()).ok_or_else(shape)?;
                    cast(column, f.data_type()).map_err(|_| shape())
                })
                .collect::<Result<Vec<_>, _>>()?;
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|_| shape())
        })
        .collect()
}
