//! From exact money to minor units: the rounding statements, and how a currency is written.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::array::{Decimal128Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};

use super::ReportError;
use super::grouped::{texts, whole};
use crate::engine::{Engine, Params, bigint};

/// Exact money is ms x price_micros: currency units times this.
const EXACT_PER_UNIT: i64 = 3_600_000 * 1_000_000;

/// A currency by its ISO 4217 code, with the digits of its minor unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Currency {
    code: String,
    digits: u32,
}

/// Not a currency code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a currency code of three capital letters (ISO 4217)")]
pub struct UnknownCurrency(String);

impl FromStr for Currency {
    type Err = UnknownCurrency;

    fn from_str(code: &str) -> Result<Self, UnknownCurrency> {
        if code.len() != 3 || !code.bytes().all(|b| b.is_ascii_uppercase()) {
            return Err(UnknownCurrency(code.to_owned()));
        }
        let digits = gpuledger_schema::currency::minor_digits(code);
        Ok(Self { code: code.to_owned(), digits })
    }
}

impl Currency {
    /// No currency (ISO 4217 `XXX`): what carries no money, or is not told.
    pub fn none() -> Self {
        Self { code: "XXX".to_owned(), digits: 2 }
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Digits of the minor unit: 0, 2 or 3.
    pub fn digits(&self) -> u32 {
        self.digits
    }

    /// What exact money is divided by to give minor units.
    pub(crate) fn divisor(&self) -> i64 {
        EXACT_PER_UNIT / 10_i64.pow(self.digits)
    }
}

/// Amounts of one measure, in order of its lines.
pub(super) type Amounts = (&'static str, Vec<i128>);

/// Rounds each measure's total once and hands it down to its lines.
pub(crate) async fn round<N: AsRef<str>>(
    engine: &Engine,
    currency: &Currency,
    measures: &[(N, Vec<i128>)],
) -> Result<Vec<Vec<i128>>, ReportError> {
    round_by(engine, currency.divisor(), measures).await
}

/// The same for the cost of energy, whose exact unit is mJ x millionths a kWh: a thousand times finer.
pub(super) async fn round_energy<N: AsRef<str>>(
    engine: &Engine,
    currency: &Currency,
    measures: &[(N, Vec<i128>)],
) -> Result<Vec<Vec<i128>>, ReportError> {
    round_by(engine, currency.divisor() * 1000, measures).await
}

async fn round_by<N: AsRef<str>>(
    engine: &Engine,
    divisor: i64,
    measures: &[(N, Vec<i128>)],
) -> Result<Vec<Vec<i128>>, ReportError> {
    register(engine, measures)?;
    let params = Params::from([("divisor", bigint(divisor))]);
    let (_, rows) = engine.run("charge/90_round", &params).await?;
    collect(&rows, measures)
}

/// Hands the given totals down to the lines of each measure.
pub(crate) async fn hand_down<N: AsRef<str>>(
    engine: &Engine,
    currency: &Currency,
    measures: &[(N, Vec<i128>)],
    targets: &[i128],
) -> Result<Vec<Vec<i128>>, ReportError> {
    hand_down_by(engine, currency.divisor(), measures, targets).await
}

/// The same for the cost of energy.
pub(super) async fn hand_down_energy<N: AsRef<str>>(
    engine: &Engine,
    currency: &Currency,
    measures: &[(N, Vec<i128>)],
    targets: &[i128],
) -> Result<Vec<Vec<i128>>, ReportError> {
    hand_down_by(engine, currency.divisor() * 1000, measures, targets).await
}

async fn hand_down_by<N: AsRef<str>>(
    engine: &Engine,
    divisor: i64,
    measures: &[(N, Vec<i128>)],
    targets: &[i128],
) -> Result<Vec<Vec<i128>>, ReportError> {
    register(engine, measures)?;
    let schema = Arc::new(Schema::new(vec![
        Field::new("measure", DataType::Utf8, false),
        Field::new("minor_units", DataType::Decimal128(38, 0), false),
    ]));
    let names: StringArray = measures.iter().map(|(n, _)| Some(n.as_ref())).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(names), decimals(targets.to_vec())?])
        .map_err(|e| ReportError::Shape(e.to_string()))?;
    engine.register_rows("target", schema, vec![batch])?;
    let params = Params::from([("divisor", bigint(divisor))]);
    let (_, rows) = engine.run("charge/91_hand_down", &params).await?;
    collect(&rows, measures)
}

fn decimals(values: Vec<i128>) -> Result<Arc<Decimal128Array>, ReportError> {
    let array = Decimal128Array::from(values).with_precision_and_scale(38, 0);
    array.map(Arc::new).map_err(|e| ReportError::Shape(e.to_string()))
}

fn register<N: AsRef<str>>(engine: &Engine, measures: &[(N, Vec<i128>)]) -> Result<(), ReportError> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("measure", DataType::Utf8, false),
        Field::new("line", DataType::Int64, false),
        Field::new("amount", DataType::Decimal128(38, 0), false),
    ]));
    let lines = || {
        measures.iter().flat_map(|(name, amounts)| amounts.iter().enumerate().map(move |(i, a)| (name.as_ref(), i, *a)))
    };
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            Arc::new(lines().map(|(n, ..)| Some(n)).collect::<StringArray>()),
            Arc::new(lines().map(|(_, i, _)| i as i64).collect::<Int64Array>()),
            decimals(lines().map(|(.., a)| a).collect())?,
        ],
    )
    .map_err(|e| ReportError::Shape(e.to_string()))?;
    Ok(engine.register_rows("exact", schema, vec![batch])?)
}

fn collect<N: AsRef<str>>(rows: &[RecordBatch], measures: &[(N, Vec<i128>)]) -> Result<Vec<Vec<i128>>, ReportError> {
    let mut out: Vec<Vec<i128>> = measures.iter().map(|(_, a)| vec![0; a.len()]).collect();
    let places: HashMap<&str, usize> = measures.iter().enumerate().map(|(i, (n, _))| (n.as_ref(), i)).collect();
    for batch in rows {
        let (names, lines, units) = (texts(batch, "measure")?, whole(batch, "line")?, whole(batch, "minor_units")?);
        for i in 0..batch.num_rows() {
            if let (Some(at), Some(line), Some(units)) = (places.get(names[i].as_str()), lines[i], units[i]) {
                out[*at][line as usize] = units;
            }
        }
    }
    Ok(out)
}
