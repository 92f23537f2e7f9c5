//! Charges as they come: record batches of table `charge`, read row by row.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray,
};

use crate::error::ExportError;

/// A column of text, as written or as an engine gives it.
enum Texts<'a> {
    Plain(&'a StringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Plain(a) => (!a.is_null(row)).then(|| a.value(row)),
            Self::View(a) => (!a.is_null(row)).then(|| a.value(row)),
        }
    }
}

/// The columns of a batch that documents need.
pub(super) struct Charges<'a> {
    rows: usize,
    line_id: &'a Int64Array,
    unit_id: &'a Int64Array,
    holder: &'a Int64Array,
    local_day: &'a Int32Array,
    texts: [Texts<'a>; 6],
    numbers: [&'a Int64Array; 5],
    energy_mj: &'a Int64Array,
    exact: &'a Decimal128Array,
}

/// A row of charges.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Charge<'a> {
    pub(super) line_id: i64,
    pub(super) unit_id: i64,
    pub(super) holder: i64,
    /// Local day as the number YYYYMMDD.
    pub(super) local_day: i32,
    pub(super) node: Option<&'a str>,
    pub(super) device: Option<&'a str>,
    pub(super) cluster: Option<&'a str>,
    pub(super) job: Option<&'a str>,
    pub(super) user: Option<&'a str>,
    pub(super) account: Option<&'a str>,
    pub(super) time: Time,
    pub(super) exact: i128,
}

/// Time and energy of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) quantity_ms: i64,
    pub(super) held_ms: i64,
    pub(super) busy_ms: i64,
    pub(super) held_idle_ms: i64,
    pub(super) held_unmeasured_ms: i64,
    pub(super) energy_mj: Option<i64>,
}

impl<'a> Charges<'a> {
    /// The columns of a batch.
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self, ExportError> {
        let find = |name| batch.column_by_name(name).ok_or(ExportError::Charges(name));
        let long = |name| find(name)?.as_primitive_opt::<Int64Type>().ok_or(ExportError::Charges(name));
        let text = |name| texts(find(name)?).ok_or(ExportError::Charges(name));
        Ok(Self {
            rows: batch.num_rows(),
            line_id: long("line_id")?,
            unit_id: long("unit_id")?,
            holder: long("holder")?,
            local_day: find("local_day")?.as_primitive_opt::<Int32Type>().ok_or(ExportError::Charges("local_day"))?,
            texts: [text("node")?, text("device")?, text("cluster")?, text("job")?, text("user")?, text("account")?],
            numbers: [
                long("quantity_ms")?,
                long("held_ms")?,
                long("busy_ms")?,
                long("held_idle_ms")?,
                long("held_unmeasured_ms")?,
            ],
            energy_mj: long("energy_mj")?,
            exact: find("exact")?.as_primitive_opt::<Decimal128Type>().ok_or(ExportError::Charges("exact"))?,
        })
    }

    /// The rows of the batch, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Charge<'a>> + '_ {
        (0..self.rows).map(|row| Charge {
            line_id: self.line_id.value(row),
            unit_id: self.unit_id.value(row),
            holder: self.holder.value(row),
            local_day: self.local_day.value(row),
            node: self.texts[0].get(row),
            device: self.texts[1].get(row),
            cluster: self.texts[2].get(row),
            job: self.texts[3].get(row),
            user: self.texts[4].get(row),
            account: self.texts[5].get(row),
            time: Time {
                quantity_ms: self.numbers[0].value(row),
                held_ms: self.numbers[1].value(row),
                busy_ms: self.numbers[2].value(row),
                held_idle_ms: self.numbers[3].value(row),
                held_unmeasured_ms: self.numbers[4].value(row),
                energy_mj: (!self.energy_mj.is_null(row)).then(|| self.energy_mj.value(row)),
            },
            exact: self.exact.value(row),
        })
    }
}

fn texts(column: &ArrayRef) -> Option<Texts<'_>> {
    column.as_string_opt::<i32>().map(Texts::Plain).or_else(|| column.as_string_view_opt().map(Texts::View))
}
