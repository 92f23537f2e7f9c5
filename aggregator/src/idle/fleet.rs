//! The fleet around what was judged: cards, schedulers as sources, and how much is seen at all.

use gpuledger_schema::reclaim::{Card, Source, Use};

use super::read::rows;
use crate::engine::Engine;
use crate::report::ReportError;
use crate::rows::Columns;

/// Every card as it was last seen.
pub(super) async fn cards(engine: &Engine) -> Result<Vec<Card>, ReportError> {
    let mut out: Vec<Card> = Vec::new();
    for batch in rows(engine, "card_seen").await? {
        let c = Columns(&batch);
        let (devices, nodes, newest) = (c.number("device_id")?, c.word("node")?, c.long("newest_ms")?);
        let (used, total, holders) = (c.long("mem_used_bytes")?, c.long("mem_total_bytes")?, c.long("holder")?);
        let (is_user, is_holder) = (c.flag("is_user")?, c.flag("is_holder")?);
        for i in 0..devices.len() {
            if out.last().is_none_or(|last| last.device_id != devices[i]) {
                out.push(Card {
                    device_id: devices[i],
                    node: nodes[i].clone(),
                    newest_ms: newest[i],
                    mem_used_bytes: used[i],
                    mem_total_bytes: total[i],
                    users: Vec::new(),
                    holders: Vec::new(),
                });
            }
            if let (Some(card), Some(holder)) = (out.last_mut(), holders[i]) {
                card.users.extend(is_user[i].then_some(holder));
                card.holders.extend(is_holder[i].then_some(holder));
            }
        }
    }
    Ok(out)
}

/// Schedulers, by cluster.
pub(super) async fn sources(engine: &Engine) -> Result<Vec<Source>, ReportError> {
    let mut out = Vec::new();
    for batch in rows(engine, "idle_read").await? {
        let c = Columns(&batch);
        let (clusters, read, failed) = (c.word("cluster")?, c.long("read_ms")?, c.long("failed_ms")?);
        let (errors, jobs, before) = (c.text("error")?, c.long("jobs")?, c.long("jobs_before")?);
        for (i, cluster) in clusters.into_iter().enumerate() {
            out.push(Source {
                cluster,
                read_ms: read[i],
                failed_ms: failed[i],
                error: errors[i].clone(),
                jobs: jobs[i],
                jobs_before: before[i],
            });
        }
    }
    out.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    Ok(out)
}

/// How much of the fleet is seen.
pub(super) async fn seen(engine: &Engine) -> Result<Use, ReportError> {
    for batch in rows(engine, "idle_seen").await? {
        let c = Columns(&batch);
        let (now, before) = (c.long("coverage_ppm")?, c.long("coverage_before_ppm")?);
        let quarrels = c.number("disagreeing")?;
        if let Some(disagreeing) = quarrels.first() {
            return Ok(Use { coverage_ppm: now[0], coverage_before_ppm: before[0], disagreeing: *disagreeing });
        }
    }
    Ok(Use::default())
}
