//! Every table: grain, key, columns with type, unit and meaning, Arrow schema and row type. One file a table.
//!
//! A schema grows by addition: a column may be added (old files then read as NULL there), and never changes its
//! type. What is absent is NULL, never 0, -1 or NaN. No unsigned, dictionary or float types.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Decimal128Array, Int32Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::unit::Unit;

mod allocation;
mod allocation_device;
mod calibration;
mod contact;
mod device;
mod device_cell;
mod device_claim;
mod device_minute;
mod holder_cell;
mod job;
mod job_average;
pub mod money;
mod node_offer;
mod node_state;
mod process_minute;
mod quarantine;
mod queue_minute;
mod reading;
pub mod reference;
mod sample;
mod statement;
mod usage;

pub use allocation::AllocationRow;
pub use allocation_device::AllocationDeviceRow;
pub use calibration::CalibrationRow;
pub use contact::ContactRow;
pub use device::DeviceRow;
pub use device_cell::DEVICE_CELL;
pub use device_claim::DeviceClaimRow;
pub use device_minute::DeviceMinuteRow;
pub use holder_cell::HOLDER_CELL;
pub use job::JobRow;
pub use job_average::JobAverageRow;
pub use node_offer::NodeOfferRow;
pub use node_state::NodeStateRow;
pub use process_minute::ProcessMinuteRow;
pub use quarantine::QuarantineRow;
pub use queue_minute::QueueMinuteRow;
pub use reading::ReadingRow;
pub use sample::SampleRow;
pub use statement::{ChargeRow, StatementLineRow};
pub use usage::{DEVICE_MISMATCH, REQUEST, RUN, SESSION_DAY, UNIT, USAGE};

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name, with its unit in it.
    pub name: &'static str,
    /// Arrow type as written (text is Utf8; the lake returns Utf8View).
    pub data_type: DataType,
    /// Whether the value may be absent.
    pub nullable: bool,
    /// Unit.
    pub unit: Unit,
    /// What it means, one line.
    pub meaning: &'static str,
}

/// A table of the lake.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Name in SQL and folder name in the lake.
    pub name: &'static str,
    /// What one row stands for.
    pub grain: &'static str,
    /// Columns that identify a row.
    pub key: &'static [&'static str],
    /// Whether it is partitioned by UTC `day`.
    pub by_day: bool,
    /// Its columns, in order.
    pub columns: fn() -> Vec<Column>,
}

impl Table {
    /// The Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        let fields: Vec<Field> =
            (self.columns)().into_iter().map(|c| Field::new(c.name, c.data_type, c.nullable)).collect();
        Arc::new(Schema::new(fields))
    }
}

/// A row type of a table: how rows become a record batch.
pub trait Row: Sized {
    /// The table.
    const TABLE: Table;
    /// One Arrow array per column, in the table's order.
    fn arrays(rows: &[Self]) -> Vec<ArrayRef>;
    /// The row's fields as text, for content hashes: two rows are the same row when these are equal.
    fn content(&self) -> String;
}

/// Rows as a record batch with the table's schema.
pub fn batch<R: Row>(rows: &[R]) -> Result<arrow_array::RecordBatch, arrow_schema::ArrowError> {
    arrow_array::RecordBatch::try_new(R::TABLE.schema(), R::arrays(rows))
}

/// A Rust type that can stand in a column.
pub trait ColumnType: Sized {
    /// Whether it can be absent.
    const NULLABLE: bool;
    /// Arrow type.
    fn data_type() -> DataType;
    /// An Arrow array of these values.
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// Text for content hashes.
    fn text(&self, out: &mut String);
}

macro_rules! column_type {
    ($rust:ty, $arrow:expr, $array:ident, $value:ident => $get:expr) => {
        impl ColumnType for $rust {
            const NULLABLE: bool = false;
            fn data_type() -> DataType {
                $arrow
            }
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(values.map(|$value| Some($get)).collect::<$array>())
            }
            fn text(&self, out: &mut String) {
                out.push_str(&self.to_string());
                out.push('\u{1f}');
            }
        }
        impl ColumnType for Option<$rust> {
            const NULLABLE: bool = true;
            fn data_type() -> DataType {
                $arrow
            }
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(values.map(|v| v.as_ref().map(|$value| $get)).collect::<$array>())
            }
            fn text(&self, out: &mut String) {
                match self {
                    Some(v) => v.text(out),
                    None => out.push('\u{1e}'),
                }
            }
        }
    };
}

column_type!(i64, DataType::Int64, Int64Array, v => *v);
column_type!(i32, DataType::Int32, Int32Array, v => *v);
column_type!(bool, DataType::Boolean, BooleanArray, v => *v);
column_type!(String, DataType::Utf8, StringArray, v => v.as_str());

/// Exact money and other whole numbers beyond 63 bits: Decimal128(38, 0).
impl ColumnType for i128 {
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Decimal128(38, 0)
    }
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.copied().map(Some).collect::<Decimal128Array>().with_data_type(Self::data_type()))
    }
    fn text(&self, out: &mut String) {
        out.push_str(&self.to_string());
        out.push('\u{1f}');
    }
}

/// Declares a table and its row type in one place.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $row:ident: $name:literal, grain $grain:literal, key [$($key:literal),*], by_day $by_day:literal {
            $($field:ident: $ty:ty, $unit:ident, $meaning:literal;)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $row {
            $(#[doc = $meaning] pub $field: $ty,)+
        }

        impl $crate::table::Row for $row {
            const TABLE: $crate::table::Table = $crate::table::Table {
                name: $name,
                grain: $grain,
                key: &[$($key),*],
                by_day: $by_day,
                columns: || vec![$($crate::table::Column {
                    name: stringify!($field),
                    data_type: <$ty as $crate::table::ColumnType>::data_type(),
                    nullable: <$ty as $crate::table::ColumnType>::NULLABLE,
                    unit: $crate::unit::Unit::$unit,
                    meaning: $meaning,
                },)+],
            };
            fn arrays(rows: &[Self]) -> Vec<arrow_array::ArrayRef> {
                vec![$(<$ty as $crate::table::ColumnType>::array(rows.iter().map(|r| &r.$field)),)+]
            }
            fn content(&self) -> String {
                let mut out = String::new();
                $($crate::table::ColumnType::text(&self.$field, &mut out);)+
                out
            }
        }
    };
}
pub(crate) use table;

/// Every observed table, in the order in which a batch commits them: process rows before the device rows that
/// prove them complete.
pub fn observed() -> Vec<Table> {
    vec![
        ProcessMinuteRow::TABLE,
        DeviceMinuteRow::TABLE,
        DeviceRow::TABLE,
        JobRow::TABLE,
        AllocationRow::TABLE,
        AllocationDeviceRow::TABLE,
        JobAverageRow::TABLE,
        DeviceClaimRow::TABLE,
        NodeStateRow::TABLE,
        NodeOfferRow::TABLE,
        QueueMinuteRow::TABLE,
        SampleRow::TABLE,
        ReadingRow::TABLE,
        CalibrationRow::TABLE,
        QuarantineRow::TABLE,
    ]
}

/// Every derived table.
pub fn derived() -> Vec<Table> {
    vec![USAGE, SESSION_DAY, HOLDER_CELL, DEVICE_CELL, DEVICE_MISMATCH, RUN, REQUEST, UNIT]
}

/// A table by name, observed, derived or reference.
pub fn find(name: &str) -> Option<Table> {
    observed().into_iter().chain(derived()).chain(reference::all()).find(|t| t.name == name)
}

#[cfg(test)]
mod tests;
