//! Compaction against appends of the same table: no row is lost or doubled, and no file is named that is not there.

use gpuledger_aggregator::engine::Engine;
use gpuledger_aggregator::lake::Lake;
use gpuledger_schema::table::{NodeStateRow, Row, batch};

use crate::worlds::drive::rows;

const ROUNDS: u64 = 100;

fn row(number: u64) -> NodeStateRow {
    NodeStateRow {
        cluster: "alpha".to_owned(),
        node: format!("n{number}"),
        from_ms: 1,
        to_ms: None,
        state: "up".to_owned(),
        reason: None,
        source: "s".to_owned(),
        as_of_ms: 2,
    }
}

async fn counted(lake: &Lake) -> (u64, u64) {
    let spec = NodeStateRow::TABLE;
    let version = lake.table(spec.name).await.unwrap().unwrap().version().unwrap();
    for file in lake.files_at(&spec, version).await.unwrap() {
        assert_eq!(lake.size(&file.path).await.unwrap(), Some(file.size_bytes), "{}", file.path);
    }
    let engine = Engine::new(1);
    engine.register(spec.name, lake.provider_at(&spec, version).await.unwrap()).unwrap();
    let found = rows(&engine, "SELECT count(*), count(DISTINCT node) FROM node_state").await;
    let n = |i: usize| found[0][i].as_ref().unwrap().parse().unwrap();
    (n(0), n(1))
}

/// A file is written while the same table is put together and cleaned up; some of that work is cut off in the middle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c37_compaction_against_append() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path().to_str().unwrap(), true).unwrap();
    let spec = NodeStateRow::TABLE;
    lake.append(&spec, 1, vec![batch(&[row(1)]).unwrap()]).await.unwrap();
    let mut compacted = 0;
    for number in 2..=ROUNDS {
        let (mine, other) = (lake.clone(), lake.clone());
        let keeping = tokio::spawn(async move {
            let done = mine.compact(&NodeStateRow::TABLE).await.unwrap();
            done.files_before
        });
        let appending = tokio::spawn(async move {
            other.append(&NodeStateRow::TABLE, number, vec![batch(&[row(number)]).unwrap()]).await.unwrap()
        });
        if number % 5 == 0 {
            // upkeep that dies: its new file is there and named by nobody, or named and counted once
            tokio::time::sleep(std::time::Duration::from_millis(number % 17)).await;
            keeping.abort();
        }
        compacted += keeping.await.unwrap_or(0);
        appending.await.unwrap();
        if number % 20 == 0 {
            assert_eq!(counted(&lake).await, (number, number));
            lake.vacuum(&spec, &[], 0, false).await.unwrap();
            assert_eq!(lake.vacuum(&spec, &[], 0, true).await.unwrap(), Vec::<String>::new(), "nothing is left to go");
        }
        assert_eq!(counted(&lake).await, (number, number), "after round {number}");
    }
    assert!(compacted > ROUNDS / 2, "{compacted} files were put together");
}
