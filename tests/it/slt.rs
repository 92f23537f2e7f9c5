//! Every rule of `sql/` on tiny inputs: `tests/slt/<folder>/<name>.slt` beside `sql/<folder>/<name>.sql`.
//!
//! `tests/slt/README.md` says how these files are written. `SLT_COMPLETE=1` rewrites what they expect.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use gpuledger_aggregator::engine::float_in;
use gpuledger_aggregator::statement;
use sqllogictest::{Record, Runner, default_normalizer, default_validator, parse_file, strict_column_validator};

mod chain;
mod db;
mod kind;

use chain::{Chain, any_params, chained};
use db::{Db, Refused};
use kind::Kind;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `<folder>/<name>` of every file of that kind, in order.
fn names(under: &str, extension: &str) -> BTreeSet<String> {
    let base = root().join(under);
    let mut found = BTreeSet::new();
    for folder in std::fs::read_dir(&base).expect("folder").map(|f| f.expect("entry").path()).filter(|p| p.is_dir()) {
        for file in std::fs::read_dir(&folder).expect("folder").map(|f| f.expect("entry").path()) {
            if file.extension().is_some_and(|e| e == extension) {
                let name = file.strip_prefix(&base).expect("below").with_extension("");
                found.insert(name.to_str().expect("utf-8").to_owned());
            }
        }
    }
    found
}

/// Runs one file to its end, or to the first statement that fails: a wrong answer hides no other.
async fn run_file(path: &Path, chain: &Arc<Chain>, partitions: usize) -> Vec<String> {
    let records: Vec<Record<Kind>> = match parse_file(path) {
        Ok(records) => records,
        Err(e) => return vec![e.to_string()],
    };
    let mut runner = Runner::new(|| async { Ok::<_, Refused>(Db::new(Arc::clone(chain), partitions)) });
    runner.with_column_validator(strict_column_validator);
    let mut failures = Vec::new();
    for record in records {
        let statement = matches!(record, Record::Statement { .. });
        if let Err(e) = runner.run_async(record).await {
            failures.push(format!("{e} ({partitions} partitions)"));
            if statement {
                break;
            }
        }
    }
    failures
}

#[tokio::test]
async fn slt_every_file_gives_what_it_says_with_one_and_more_partitions() {
    let chain = Arc::new(Chain::new().await.expect("an empty lake"));
    let only = std::env::var("SLT_ONLY").unwrap_or_default();
    let complete = std::env::var("SLT_COMPLETE").is_ok_and(|v| v == "1");
    let mut failures = Vec::new();
    for name in names("tests/slt", "slt").iter().filter(|n| n.contains(&only)) {
        let path = root().join("tests/slt").join(format!("{name}.slt"));
        if complete {
            let mut runner = Runner::new(|| async { Ok::<_, Refused>(Db::new(Arc::clone(&chain), 1)) });
            let done =
                runner.update_test_file(&path, " ", default_validator, default_normalizer, strict_column_validator);
            failures.extend(done.await.err().map(|e| e.to_string()));
            continue;
        }
        for partitions in [1, 3] {
            let found = run_file(&path, &chain, partitions).await;
            let stop = !found.is_empty();
            failures.extend(found);
            if stop {
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn slt_every_statement_is_listed_and_has_its_file() {
    let listed: BTreeSet<String> = statement::ALL.iter().map(|s| s.name.to_owned()).collect();
    assert_eq!(listed, names("sql", "sql"), "aggregator/src/statement_list.rs differs from the files of sql/");
    let tested = names("tests/slt", "slt");
    let untested: Vec<_> = listed.difference(&tested).collect();
    assert!(untested.is_empty(), "no .slt for {untested:?}");
    let orphans: Vec<_> = tested.difference(&listed).collect();
    assert!(orphans.is_empty(), "no statement for {orphans:?}");
}

/// The tables a plan scans, also in subqueries.
fn scans(plan: &LogicalPlan) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            found.insert(scan.table_name.table().to_owned());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .expect("a walk that cannot fail");
    found
}

#[tokio::test]
async fn slt_every_header_names_what_its_plan_scans_and_no_rule_has_a_float() {
    let chain = Chain::new().await.expect("an empty lake");
    let mut wrong: Vec<String> = chain.failed.clone();
    for s in statement::all() {
        let header = s.header().expect("header");
        let declared: BTreeSet<String> = header.inputs.into_iter().filter(|t| t != "none").collect();
        let plan = match chain.engine.plan(s.name, &any_params(s).expect("parameters")).await {
            Ok(frame) => frame.logical_plan().clone(),
            Err(e) => {
                wrong.push(chained(&e));
                continue;
            }
        };
        let scanned = scans(&plan);
        if scanned != declared {
            let more: Vec<_> = declared.difference(&scanned).collect();
            let less: Vec<_> = scanned.difference(&declared).collect();
            wrong.push(format!(
                "sql/{}.sql: declares but does not read {more:?}, reads but does not declare {less:?}",
                s.name
            ));
        }
        if ["ledger/", "charge/", "waste/", "idle/", "close/", "check/"].iter().any(|f| s.name.starts_with(f))
            && let Some(what) = float_in(&plan).expect("a walk that cannot fail")
        {
            wrong.push(format!("sql/{}.sql: a float: {what}", s.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
