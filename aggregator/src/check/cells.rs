//! What is looked at cell by cell, a stretch of days after the other: memory goes by the stretch, not by the window.

use std::collections::BTreeMap;

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::Window;

use super::{Finding, from, only};
use crate::engine::{Engine, Params, bigint};
use crate::report::{Reader, ReportError, whole};

/// Rows of usage of a stretch at most, where it has several days.
const ROWS_AT_ONCE: i64 = 4_000_000;

/// Statements over the cells of a stretch, each with the invariant that it belongs to; L1 is told the time it is asked about.
const OF_CELLS: [(&str, &str); 4] =
    [("L1", "check/L1"), ("L4", "check/L4"), ("L5", "check/L5"), ("bounds", "check/bounds_cell")];

/// What the cells of a window show, by invariant. `known` is the time of which L1 is asked whether all of it is accounted for: the
/// window, or more than it.
pub(super) async fn findings(
    reader: &Reader,
    window: Window,
    known: Window,
) -> Result<BTreeMap<&'static str, Finding>, ReportError> {
    let parts = stretches(reader.engine(), window, ROWS_AT_ONCE).await?;
    let mut rows: BTreeMap<&'static str, Vec<RecordBatch>> = OF_CELLS.map(|(id, _)| (id, Vec::new())).into();
    for (i, part) in parts.iter().enumerate() {
        let session = reader.fork().await?;
        let engine = session.engine();
        only(engine, *part).await?;
        engine.step("check/cell_sum", &Params::new()).await?;
        let from_ms = if i == 0 { known.from_ms } else { part.from_ms };
        let to_ms = if i + 1 == parts.len() { known.to_ms } else { part.to_ms };
        let asked = Params::from([("from_ms", bigint(from_ms)), ("to_ms", bigint(to_ms))]);
        for (id, statement) in OF_CELLS {
            let params = if id == "L1" { asked.clone() } else { Params::new() };
            rows.entry(id).or_default().extend(engine.run(statement, &params).await?.1);
        }
    }
    Ok(rows.into_iter().map(|(id, rows)| (id, from(id, &rows, true))).collect())
}

/// A window in parts that meet at UTC midnights, each with no more rows than `most` where it has several days.
async fn stretches(engine: &Engine, window: Window, most: i64) -> Result<Vec<Window>, ReportError> {
    let (_, rows) = engine.run("read/70_day_rows", &Params::new()).await?;
    let mut out = Vec::new();
    let (mut from_ms, mut n) = (window.from_ms, 0);
    for batch in &rows {
        for (day, of_day) in whole(batch, "day")?.into_iter().zip(whole(batch, "n")?) {
            let (day, of_day) = (day.unwrap_or(0) as i64 * DAY_MS, of_day.unwrap_or(0) as i64);
            if day > from_ms && day < window.to_ms && n + of_day > most {
                out.push(Window { from_ms, to_ms: day });
                (from_ms, n) = (day, 0);
            }
            n += of_day;
        }
    }
    out.push(Window { from_ms, to_ms: window.to_ms });
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::Int32Array;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[tokio::test]
    async fn stretches_meet_at_midnights_and_are_the_window() {
        let engine = Engine::new(2);
        let days = Int32Array::from(vec![3, 3, 4, 4, 5, 5, 5, 5, 5, 7, 8]);
        let schema = Arc::new(Schema::new(vec![Field::new("day", DataType::Int32, false)]));
        let rows = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(days)]).unwrap();
        engine.register_rows("usage", schema, vec![rows]).unwrap();
        let window = Window { from_ms: 3 * DAY_MS - 3_600_000, to_ms: 9 * DAY_MS - 3_600_000 };
        let parts = stretches(&engine, window, 4).await.unwrap();
        let edges: Vec<(i64, i64)> = parts.iter().map(|p| (p.from_ms, p.to_ms)).collect();
        let midnight = |day: i64| day * DAY_MS;
        assert_eq!(
            edges,
            [(window.from_ms, midnight(5)), (midnight(5), midnight(7)), (midnight(7), window.to_ms)],
            "days 3 and 4; day 5, which is more by itself, and 6 without rows; days 7 and 8"
        );
        let nothing = Window { from_ms: midnight(20), to_ms: midnight(21) };
        let parts = stretches(&engine, nothing, 4).await.unwrap();
        assert_eq!(parts.len(), 1, "a window without usage is one part: {parts:?}");
    }
}
