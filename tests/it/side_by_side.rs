//! Reports of one open ledger side by side.

use chrono_tz::Tz;
use gpuledger_aggregator::report::{self, Ask, AskedTerms, Currency, Dimension, Narrow, Reader, Report, Value};
use gpuledger_schema::window::Window;

use crate::worlds::drive::Site;
use crate::worlds::{self, make};

const DAY: i64 = 86_400_000;

async fn open() -> (Site, Reader, Ask) {
    let (zone, at) = worlds::midnight(0);
    let mut made: Vec<make::World> = (0..3).map(|seed| make::world(seed, at)).collect();
    let site = worlds::settled(0, &mut made).await;
    site.build(2).await;
    let base = site.reader(2).await;
    let window = Window { from_ms: at - DAY, to_ms: at + DAY };
    (site, base, asked(window, zone))
}

fn asked(window: Window, zone: Tz) -> Ask {
    Ask {
        window,
        zone,
        by: vec![Dimension::Team],
        step: None,
        currency: "EUR".parse::<Currency>().expect("a currency"),
    }
}

async fn charges(reader: &Reader, ask: &Ask) -> Report {
    report::charge(reader, ask).await.expect("charges").report
}

/// A session that is taken while another prices waits for all of the facts, and has them.
#[tokio::test]
async fn a_session_taken_while_facts_are_priced_has_all_of_them() {
    let (_site, base, ask) = open().await;
    let (priced, taken) = tokio::join!(report::prepare(&base, &ask), base.fork());
    priced.expect("priced");
    let wanted = charges(&base, &ask).await;
    assert!(!wanted.rows.is_empty());
    assert_eq!(charges(&taken.expect("a session"), &ask).await, wanted);
}

/// Terms that somebody asked about are those of that question alone.
#[tokio::test]
async fn terms_that_were_asked_about_are_not_those_of_the_next_question() {
    let (_site, base, ask) = open().await;
    let wanted = charges(&base, &ask).await;
    let busy = base.on_terms(AskedTerms { mode: Some("busy"), share: None }).await.expect("a session");
    assert_ne!(charges(&busy, &ask).await, wanted, "the terms make a difference");
    let next = busy.with_partitions(2).await.expect("a session");
    assert_eq!(charges(&next, &ask).await, wanted);
}

/// A selection has one total, however its rows are grouped: to the cent, in every measure, and that of its row among all.
#[tokio::test]
async fn what_is_selected_comes_to_the_same_however_it_is_grouped() {
    let (_site, base, ask) = open().await;
    let ways = [
        vec![Dimension::Team],
        vec![Dimension::User, Dimension::Model],
        vec![Dimension::Cluster, Dimension::Job],
        vec![Dimension::Day, Dimension::Node, Dimension::Device],
        vec![Dimension::TaskType],
    ];
    let all = charges(&base, &Ask { by: vec![Dimension::TaskType], ..ask.clone() }).await;
    for row in &all.rows {
        let Value::Text(task_type) = &row[0] else { panic!("{row:?}") };
        let narrow = Narrow(vec![vec![(Dimension::TaskType, task_type.clone())]]);
        for by in &ways {
            let reader = base.narrowed(narrow.clone()).await.expect("a session");
            let report = charges(&reader, &Ask { by: by.clone(), ..ask.clone() }).await;
            let at = |r: &Report, name: &str| r.columns.iter().position(|c| c.name == name).expect("a column");
            let total = report.total.as_ref().expect("a total");
            for measure in ["charge", "waste", "list", "unallocated_cost", "unavailable_cost", "unobserved_cost"] {
                assert_eq!(total[at(&report, measure)], row[at(&all, measure)], "{task_type} by {by:?}: {measure}");
            }
        }
    }
}
