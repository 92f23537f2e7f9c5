//! From what the statements gave to a snapshot: rows become allocations, cards and sources. Nothing is decided here.

use std::collections::BTreeMap;

use datafusion::arrow::array::RecordBatch;
use gpuledger_schema::reclaim::{
    AlertKind, Allocation, Class, Identity, Judgement, Mode, Owner, Reason, Snapshot, Switches, Verdict, Work, Workload,
};

use super::{Asked, Rules, fleet, stray};
use crate::engine::Engine;
use crate::report::ReportError;
use crate::rows::Columns;

/// An allocation as it was judged, with what only people read.
#[derive(Debug, Clone)]
pub struct Judged {
    /// As a plan reads it.
    pub allocation: Allocation,
    /// Its cluster, also of a bare host.
    pub cluster: String,
    /// Rest that counts as idle for it, ms; absent: no policy speaks of it.
    pub window_ms: Option<i64>,
    /// When it last worked, epoch ms; absent: that was not seen.
    pub active_to_ms: Option<i64>,
    /// The longest time between two looks at one of its cards in the last hour, ms.
    pub apart_ms: Option<i64>,
    /// Command or name: a label.
    pub label: Option<String>,
}

/// Cards of a holder, and their nodes.
type Held = BTreeMap<i64, (Vec<i64>, Vec<String>)>;

pub(super) async fn read(
    engine: &Engine,
    rules: &Rules,
    asked: &Asked<'_>,
) -> Result<(Snapshot, Vec<Judged>), ReportError> {
    let mut held = Held::new();
    for batch in rows(engine, "idle_card").await? {
        let c = Columns(&batch);
        let (holders, devices, nodes) = (c.number("holder")?, c.number("device_id")?, c.text("node")?);
        for ((holder, device), node) in holders.into_iter().zip(devices).zip(nodes) {
            let of = held.entry(holder).or_default();
            of.0.push(device);
            of.1.extend(node);
        }
    }
    for (devices, nodes) in held.values_mut() {
        devices.sort_unstable();
        devices.dedup();
        nodes.sort();
        nodes.dedup();
    }
    let mut judged = Vec::new();
    for batch in rows(engine, "judged").await? {
        judged.extend(runs(&Columns(&batch), &held)?);
    }
    let mut cards = fleet::cards(engine).await?;
    for batch in rows(engine, "stray").await? {
        for one in stray::strays(&Columns(&batch))? {
            let id = one.allocation.allocation_id;
            // several processes on one card are one case: a person who looks at it sees all of them
            if judged.iter().any(|j| j.allocation.allocation_id == id) {
                continue;
            }
            for card in cards.iter_mut().filter(|c| one.allocation.device_ids.contains(&c.device_id)) {
                card.users.push(id);
            }
            judged.push(one);
        }
    }
    let snapshot = Snapshot {
        at_ms: asked.at_ms,
        mode: if asked.live { Mode::Live } else { Mode::Past },
        policy_hash: rules.policy_hash.clone(),
        switches: Switches::default(),
        sources: fleet::sources(engine).await?,
        seen: fleet::seen(engine).await?,
        allocations: judged.iter().map(|j| j.allocation.clone()).collect(),
        cards,
        cases: Vec::new(),
        past: Vec::new(),
    };
    Ok((snapshot, judged))
}

/// A table of the session.
pub(super) async fn rows(engine: &Engine, table: &str) -> Result<Vec<RecordBatch>, ReportError> {
    let fail = |e| ReportError::Group { table: table.to_owned(), source: Box::new(e) };
    let frame = engine.context().table(table).await.map_err(fail)?;
    let fail = |e| ReportError::Group { table: table.to_owned(), source: Box::new(e) };
    Ok(frame.collect().await.map_err(fail)?)
}

/// A word of a closed list, as a statement gave it.
pub(super) fn word<T: std::str::FromStr>(column: &str, text: &str) -> Result<T, ReportError> {
    text.parse().map_err(|_| ReportError::Shape(format!("{column}: `{text}`")))
}

/// The columns of `judged` that say who it is.
struct Who {
    kind: Vec<String>,
    is_pod: Vec<bool>,
    cluster: Vec<String>,
    job: Vec<Option<String>>,
    user: Vec<Option<String>>,
    account: Vec<Option<String>>,
    name: Vec<Option<String>>,
    start: Vec<i64>,
    array: (Vec<Option<String>>, Vec<Option<i64>>),
    het: (Vec<Option<String>>, Vec<bool>),
    workload: [Vec<Option<String>>; 3],
    siblings: Vec<Option<i64>>,
    boot: Vec<Option<i64>>,
    leader_ticks: Vec<Option<i64>>,
    nodes: Vec<Option<String>>,
}

impl Who {
    fn of(c: &Columns<'_>) -> Result<Self, ReportError> {
        Ok(Self {
            kind: c.word("kind")?,
            is_pod: c.flag("is_pod")?,
            cluster: c.word("cluster")?,
            job: c.text("job_raw")?,
            user: c.text("user")?,
            account: c.text("account")?,
            name: c.text("name")?,
            start: c.number("start_ms")?,
            array: (c.text("array_job")?, c.long("array_task")?),
            het: (c.text("het_leader")?, c.flag("is_leader")?),
            workload: [c.text("workload_kind")?, c.text("workload_name")?, c.text("workload_uid")?],
            siblings: c.long("siblings_busy")?,
            boot: c.long("boot_id")?,
            leader_ticks: c.long("leader_ticks")?,
            nodes: c.text("nodes")?,
        })
    }

    fn identity(&self, i: usize, nodes: &[String]) -> Identity {
        let job = self.job[i].clone().unwrap_or_default();
        if self.kind[i] == "session" {
            return Identity::Session {
                node: nodes.first().cloned().or_else(|| self.nodes[i].clone()).unwrap_or_default(),
                boot: self.boot[i].map_or_else(String::new, |b| b.to_string()),
                leader: job.rsplit(':').next().and_then(|n| n.parse().ok()).unwrap_or(0),
                start_ticks: self.leader_ticks[i],
                start_ms: self.start[i],
            };
        }
        if self.is_pod[i] {
            let [kind, name, uid] = &self.workload;
            let owner = match (&kind[i], &name[i], &uid[i]) {
                (Some(kind), Some(name), Some(uid)) => Some(Workload {
                    kind: kind.clone(),
                    name: name.clone(),
                    uid: uid.clone(),
                    busy_siblings: self.siblings[i],
                }),
                _ => None,
            };
            return Identity::Kubernetes {
                cluster: self.cluster[i].clone(),
                namespace: self.account[i].clone().unwrap_or_default(),
                pod: self.name[i].clone().unwrap_or_default(),
                uid: job,
                owner,
                start_ms: self.start[i],
            };
        }
        Identity::Slurm {
            cluster: self.cluster[i].clone(),
            array: self.array.0[i].clone().zip(self.array.1[i]),
            het: self.component(i, &job),
            job_raw: job,
            user: self.user[i].clone().unwrap_or_default(),
            start_ms: self.start[i],
        }
    }

    /// Leader and offset of a component of a het job: Slurm numbers them one after the other.
    fn component(&self, i: usize, job: &str) -> Option<(String, i64)> {
        let leader = self.het.0[i].clone().or_else(|| self.het.1[i].then(|| job.to_owned()))?;
        let offset = job.parse::<i64>().ok()? - leader.parse::<i64>().ok()?;
        Some((leader, offset))
    }
}

fn runs(c: &Columns<'_>, held: &Held) -> Result<Vec<Judged>, ReportError> {
    let who = Who::of(c)?;
    let holders = c.number("holder")?;
    let (teams, pools) = (c.text("team")?, c.text("pool")?);
    let works = works(c, &pools)?;
    let judgements = judgements(c)?;
    let (units, contacts) = (c.long("gpu_units")?, c.text("address")?);
    let (windows, worked, apart) = (c.long("window_ms")?, c.long("active_to_ms")?, c.long("apart_ms")?);
    let mut out = Vec::new();
    for (i, ((holder, work), judgement)) in holders.into_iter().zip(works).zip(judgements).enumerate() {
        let (device_ids, nodes) = held.get(&holder).cloned().unwrap_or_default();
        let identity = who.identity(i, &nodes);
        out.push(Judged {
            allocation: Allocation {
                allocation_id: holder,
                identity,
                owner: Owner {
                    user: who.user[i].clone().unwrap_or_default(),
                    account: who.account[i].clone(),
                    team: teams[i].clone().unwrap_or_else(|| "unassigned".to_owned()),
                    contact: contacts[i].clone(),
                },
                work,
                nodes,
                device_ids,
                gpu_units: units[i].unwrap_or(0),
                judgement,
            },
            cluster: who.cluster[i].clone(),
            window_ms: windows[i],
            active_to_ms: worked[i],
            apart_ms: apart[i],
            label: who.name[i].clone(),
        });
    }
    Ok(out)
}

fn works(c: &Columns<'_>, pools: &[Option<String>]) -> Result<Vec<Work>, ReportError> {
    let (types, queues, qos, names) = (c.word("task_type")?, c.text("queue")?, c.text("qos")?, c.text("name")?);
    let (models, priorities) = (c.text("model")?, c.long("priority")?);
    let (limits, longest, checkpoints) = (c.long("time_limit_ms")?, c.long("max_ms")?, c.long("last_checkpoint_ms")?);
    let (starts, borrowed) = (c.number("start_ms")?, c.flag("borrowed")?);
    let preemptible = preemptible(c)?;
    let one = |i: usize| Work {
        task_type: types[i].clone(),
        queue: queues[i].clone(),
        qos: qos[i].clone(),
        name: names[i].clone(),
        pool: pools[i].clone().unwrap_or_else(|| "default".to_owned()),
        model: models[i].clone(),
        priority: priorities[i],
        preemptible: preemptible[i],
        borrowed: borrowed[i],
        limit_ms: limits[i].map(|limit| starts[i] + limit),
        max_ms: longest[i],
        checkpoint_ms: checkpoints[i],
    };
    Ok((0..types.len()).map(one).collect())
}

/// Whether each may be preempted, where somebody says so.
fn preemptible(c: &Columns<'_>) -> Result<Vec<Option<bool>>, ReportError> {
    Ok(c.long("preemptible")?.into_iter().map(|v| v.map(|v| v != 0)).collect())
}

/// Alerts, each a column of `judged`.
const ALERTS: [(&str, AlertKind); 6] = [
    ("hung", AlertKind::Hung),
    ("node_lost", AlertKind::NodeLost),
    ("token_load", AlertKind::TokenLoad),
    ("memory_over_quota", AlertKind::MemoryOverQuota),
    ("disagreement", AlertKind::Disagreement),
    ("partly_idle", AlertKind::PartlyIdle),
];

fn judgements(c: &Columns<'_>) -> Result<Vec<Judgement>, ReportError> {
    let (policies, verdicts) = (c.text("policy")?, c.word("verdict")?);
    let (reasons, also, classes) = (c.text("reason")?, c.text("also")?, c.text("class")?);
    let (low, dead) = (c.flag("is_low")?, c.flag("is_dead")?);
    let flags = ALERTS.iter().map(|(name, _)| c.flag(name)).collect::<Result<Vec<_>, _>>()?;
    let (rest, active, newest) = (c.long("rest_from_ms")?, c.long("active_from_ms")?, c.long("newest_ms")?);
    let (coverage, peak, mean) = (c.long("coverage_ppm")?, c.long("peak_ppm")?, c.long("mean_ppm")?);
    let (power, floor) = (c.long("power_mw")?, c.long("floor_mw")?);
    let mut out = Vec::new();
    for i in 0..verdicts.len() {
        let told = [reasons[i].as_deref(), also[i].as_deref()];
        let mut of = Vec::new();
        if let Some(class) = &classes[i] {
            of.push(word::<Class>("class", class)?);
        }
        of.extend(dead[i].then_some(Class::DeadHolder));
        of.extend(low[i].then_some(Class::LowUse));
        out.push(Judgement {
            policy: policies[i].clone(),
            verdict: word::<Verdict>("verdict", &verdicts[i])?,
            reasons: told.into_iter().flatten().map(|r| word::<Reason>("reason", r)).collect::<Result<_, _>>()?,
            classes: of,
            alerts: ALERTS.iter().zip(&flags).filter(|(_, on)| on[i]).map(|((_, kind), _)| *kind).collect(),
            rest_from_ms: rest[i],
            active_from_ms: active[i],
            newest_ms: newest[i],
            coverage_ppm: coverage[i],
            peak_ppm: peak[i],
            power_mw: power[i],
            floor_mw: floor[i],
            mean_ppm: mean[i],
        });
    }
    Ok(out)
}
