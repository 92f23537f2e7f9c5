//! What holds a card without being anybody's run, as allocations that are for people alone.

use gpuledger_schema::reclaim::{Allocation, Class, Identity, Judgement, Owner, Verdict, Work};
use gpuledger_schema::unit::CARD_UNITS;

use super::Judged;
use super::read::word;
use crate::report::ReportError;
use crate::rows::Columns;

/// What holds a card without being a run. That it was seen in every tick is what its statement asks for.
pub(super) fn strays(c: &Columns<'_>) -> Result<Vec<Judged>, ReportError> {
    let (classes, holders, jobs) = (c.word("class")?, c.long("holder")?, c.text("job_raw")?);
    let (starts, clusters, nodes) = (c.long("start_ms")?, c.word("cluster")?, c.word("node")?);
    let (devices, boots, pids) = (c.number("device_id")?, c.long("boot_id")?, c.long("pid")?);
    let (ticks, users, accounts) = (c.long("start_ticks")?, c.text("user")?, c.text("account")?);
    let (first, newest, commands) = (c.number("first_ms")?, c.number("newest_ms")?, c.text("command")?);
    let mut out = Vec::new();
    for i in 0..classes.len() {
        let class: Class = word("class", &classes[i])?;
        let user = users[i].clone().unwrap_or_default();
        let identity = match (class, &jobs[i]) {
            (Class::JobGone, Some(job)) => Identity::Slurm {
                cluster: clusters[i].clone(),
                job_raw: job.clone(),
                array: None,
                het: None,
                user: user.clone(),
                start_ms: starts[i].unwrap_or(first[i]),
            },
            _ => Identity::Process {
                node: nodes[i].clone(),
                boot: boots[i].map_or_else(String::new, |b| b.to_string()),
                pid: pids[i],
                start_ticks: ticks[i],
                start_ms: first[i],
            },
        };
        let allocation = Allocation {
            allocation_id: holders[i].unwrap_or(-devices[i]),
            identity,
            owner: Owner { user, account: accounts[i].clone(), team: "unassigned".to_owned(), contact: None },
            work: Work { task_type: "unknown".to_owned(), pool: "default".to_owned(), ..Work::default() },
            nodes: vec![nodes[i].clone()],
            device_ids: vec![devices[i]],
            gpu_units: CARD_UNITS,
            judgement: Judgement {
                policy: Some("default".to_owned()),
                verdict: Verdict::Idle,
                classes: vec![class],
                newest_ms: Some(newest[i]),
                coverage_ppm: Some(1_000_000),
                ..Judgement::default()
            },
        };
        let label = commands[i].clone();
        let cluster = clusters[i].clone();
        out.push(Judged { allocation, cluster, window_ms: None, active_to_ms: None, apart_ms: None, label });
    }
    Ok(out)
}
