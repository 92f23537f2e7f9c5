//! Reference tables on their way into SQL: only as versions of the lake, never read from SQLite inside a statement.

use datafusion::arrow::record_batch::RecordBatch;
use gpuledger_control::{Control, ControlError, ReferenceRow, ReferenceTable};
use gpuledger_schema::path;
use gpuledger_schema::table::money::{
    BudgetRow, CostCenterRow, CostPoolRow, DiscountRow, EnergyPriceRow, ManualLineRow, TermsRow,
};
use gpuledger_schema::table::reference::{
    FindingNoteRow, InventoryRow, OwnerRow, PoolRow, QuotaRow, RateRow, SpecRow, TaskTypeRuleRow, TaskWeightRow,
    ThresholdRow, TierRow,
};
use gpuledger_schema::table::{self, Row, batch};

use crate::audit::{AuditError, keep_head};
use crate::engine::{Engine, EngineError};
use crate::ingest::next_number;
use crate::lake::{Cut, Lake, LakeError};

/// Why reference rows could not be published.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The control file failed.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The head of the audit log could not be kept.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The schema has no such table.
    #[error("the schema has no table `{0}`")]
    Unknown(&'static str),
    /// Rows do not fit their table.
    #[error("rows of `{table}` do not fit its columns")]
    Rows {
        /// The table.
        table: &'static str,
        /// Why.
        #[source]
        source: datafusion::arrow::error::ArrowError,
    },
}

/// Whether a change of the table changes usage itself (else only how usage is grouped and priced).
fn changes_usage(table: ReferenceTable) -> bool {
    matches!(table, ReferenceTable::Inventory | ReferenceTable::Rules | ReferenceTable::Weights)
}

fn rows<R: ReferenceRow + Row>(control: &Control) -> Result<Vec<RecordBatch>, ReferenceError> {
    let rows = control.rows::<R>()?;
    let one = batch(&rows).map_err(|source| ReferenceError::Rows { table: R::TABLE.name, source })?;
    Ok(vec![one])
}

fn rows_of(control: &Control, table: ReferenceTable) -> Result<Vec<RecordBatch>, ReferenceError> {
    match table {
        ReferenceTable::Inventory => rows::<InventoryRow>(control),
        ReferenceTable::Pools => rows::<PoolRow>(control),
        ReferenceTable::Tiers => rows::<TierRow>(control),
        ReferenceTable::Rules => rows::<TaskTypeRuleRow>(control),
        ReferenceTable::Weights => rows::<TaskWeightRow>(control),
        ReferenceTable::Rates => rows::<RateRow>(control),
        ReferenceTable::Owners => rows::<OwnerRow>(control),
        ReferenceTable::Quotas => rows::<QuotaRow>(control),
        ReferenceTable::Thresholds => rows::<ThresholdRow>(control),
        ReferenceTable::Specs => rows::<SpecRow>(control),
        ReferenceTable::FindingNotes => rows::<FindingNoteRow>(control),
        ReferenceTable::Terms => rows::<TermsRow>(control),
        ReferenceTable::Discounts => rows::<DiscountRow>(control),
        ReferenceTable::CostPools => rows::<CostPoolRow>(control),
        ReferenceTable::EnergyPrices => rows::<EnergyPriceRow>(control),
        ReferenceTable::Budgets => rows::<BudgetRow>(control),
        ReferenceTable::CostCenters => rows::<CostCenterRow>(control),
        ReferenceTable::ManualLines => rows::<ManualLineRow>(control),
        ReferenceTable::Contacts => rows::<gpuledger_schema::table::ContactRow>(control),
    }
}

/// Publishes the rows of a table as a new version of the lake, with a cut that names it, and keeps the head of the audit log.
pub async fn publish(lake: &Lake, control: &Control, which: ReferenceTable) -> Result<(), ReferenceError> {
    let spec = table::find(which.table()).ok_or(ReferenceError::Unknown(which.table()))?;
    let version = lake.replace_all(&spec, rows_of(control, which)?).await?;
    let mut cut = lake.newest::<Cut>(path::CUTS).await?.map(|(_, c)| c).unwrap_or_default();
    cut.tables.insert(spec.name.to_owned(), version);
    cut.touched_days.clear();
    cut.near_days.clear();
    cut.touched_from = changes_usage(which).then_some(i32::MIN);
    keep_head(lake, control).await?;
    let number = next_number(lake).await?;
    lake.create_document(&format!("{}/{}", path::CUTS, number.file_name()), &cut).await?;
    Ok(())
}

/// Registers the built-in rows of every table that has some and that `imported` does not know.
pub fn register_defaults(engine: &Engine, imported: impl Fn(&str) -> bool) -> Result<(), EngineError> {
    let weights = batch(&gpuledger_control::default_task_weights());
    let thresholds = batch(&gpuledger_control::default_thresholds());
    let specs = batch(&gpuledger_control::default_specs());
    let tables = [(TaskWeightRow::TABLE, weights), (ThresholdRow::TABLE, thresholds), (SpecRow::TABLE, specs)];
    for (spec, rows) in tables.into_iter().filter(|(spec, _)| !imported(spec.name)) {
        engine.register_rows(spec.name, spec.schema(), rows.map(|b| vec![b]).unwrap_or_default())?;
    }
    Ok(())
}
