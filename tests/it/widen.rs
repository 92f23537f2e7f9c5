//! A lake that an older program made: its tables get the columns that they lack, and read as NULL where they lack them.

use datafusion::arrow::array::Array;
use gpuledger_aggregator::engine::Engine;
use gpuledger_aggregator::lake::Lake;
use gpuledger_schema::table::{Column, NodeStateRow, Row, Table, batch};

/// The table as it was before its column `reason`.
const OLDER: Table = Table { columns: older, ..NodeStateRow::TABLE };

fn older() -> Vec<Column> {
    (NodeStateRow::TABLE.columns)().into_iter().filter(|c| c.name != "reason").collect()
}

fn row(node: &str) -> NodeStateRow {
    NodeStateRow {
        cluster: "alpha".to_owned(),
        node: node.to_owned(),
        from_ms: 1,
        to_ms: None,
        state: "drained".to_owned(),
        reason: Some("fan".to_owned()),
        source: "s".to_owned(),
        as_of_ms: 2,
    }
}

/// Node and reason of each row at a version, in order.
async fn read(lake: &Lake, version: u64) -> Vec<(String, Option<String>)> {
    let engine = Engine::new(1);
    let spec = NodeStateRow::TABLE;
    engine.register(spec.name, lake.provider_at(&spec, version).await.unwrap()).unwrap();
    let sql = "SELECT CAST(node AS VARCHAR) AS node, CAST(reason AS VARCHAR) AS reason FROM node_state ORDER BY node";
    let mut out = Vec::new();
    for found in engine.context().sql(sql).await.unwrap().collect().await.unwrap() {
        let text = |c: usize| {
            let plain =
                datafusion::arrow::compute::cast(found.column(c), &datafusion::arrow::datatypes::DataType::Utf8);
            plain.unwrap().as_any().downcast_ref::<datafusion::arrow::array::StringArray>().unwrap().clone()
        };
        let (node, reason) = (text(0), text(1));
        out.extend(
            (0..node.len())
                .map(|i| (node.value(i).to_owned(), (!reason.is_null(i)).then(|| reason.value(i).to_owned()))),
        );
    }
    out
}

#[tokio::test]
async fn a_table_of_an_older_writer_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path().to_str().unwrap(), true).unwrap();
    let whole = batch(&[row("n1")]).unwrap();
    let names: Vec<usize> = (0..whole.num_columns()).filter(|i| whole.schema().field(*i).name() != "reason").collect();
    let first = lake.append(&OLDER, 1, vec![whole.project(&names).unwrap()]).await.unwrap();
    assert_eq!(read(&lake, first).await, [("n1".to_owned(), None)]);

    let second = lake.append(&NodeStateRow::TABLE, 2, vec![batch(&[row("n2")]).unwrap()]).await.unwrap();
    let told = Some("fan".to_owned());
    assert_eq!(read(&lake, second).await, [("n1".to_owned(), None), ("n2".to_owned(), told)]);
    // what was pinned before reads as it did
    assert_eq!(read(&lake, first).await, [("n1".to_owned(), None)]);
}
