//! What collectors write of a day: looks at schedulers, ticks and claims of nodes, in parcels of half an hour.

use gpuledger_collector::segment::{Segment, pair, segment};
use gpuledger_schema::id::{allocation_id, boot_id, device_id, hint_of_job, id63, job_id};
use gpuledger_schema::table::{
    AllocationDeviceRow, AllocationRow, DeviceClaimRow, DeviceMinuteRow, DeviceRow, JobRow, NodeStateRow, ReadingRow,
};
use gpuledger_schema::unit::{CARD_UNITS, DAY_MS};
use gpuledger_schema::window::day_of;

use super::blank;
use super::sim::{DAY, Fleet, Job, Node, Thing, Told};

/// Minutes of a parcel.
pub(super) const PARCEL: usize = 30;

/// The UTC day.
const DAY_NUMBER: i64 = 20_514;

/// The instant of a minute of the day.
pub(super) fn ms(minute: usize) -> i64 {
    DAY_NUMBER * DAY_MS + minute as i64 * 60_000
}

/// What was written in half an hour: by a node, or about a cluster.
#[derive(Debug, Clone)]
pub(super) struct Parcel {
    pub(super) number: usize,
    /// The node whose ticks it has, or none.
    pub(super) node: Option<usize>,
    /// The cluster whose scheduler it speaks of, or none.
    pub(super) cluster: Option<&'static str>,
    pub(super) segments: Vec<Segment>,
}

pub(super) fn card_uuid(node: &Node, card: usize) -> String {
    format!("GPU-{}-{card}", node.name)
}

fn instance_id(node: &Node, thing: &Thing) -> Option<i64> {
    (thing.instance > 0).then(|| device_id(&format!("MIG-{}-{}", node.name, thing.instance)))
}

pub(super) fn run_id(fleet: &Fleet, job: &Job) -> i64 {
    allocation_id(fleet.node_of(job).cluster, &job.raw, ms(job.start))
}

fn sluid(job: &Job) -> String {
    format!("s{}", job.raw)
}

fn hint(fleet: &Fleet, job: &Job) -> i64 {
    let own = if job.sluid { sluid(job) } else { job.raw.clone() };
    hint_of_job(fleet.node_of(job).cluster, &own)
}

/// Cards of a node, and the instances of one that is cut.
fn devices(node: &Node) -> Vec<DeviceRow> {
    let mut out = Vec::new();
    for card in 0..node.cards {
        let uuid = card_uuid(node, card);
        let row = DeviceRow {
            device_id: device_id(&uuid),
            first_seen_ms: ms(0),
            cluster: node.cluster.to_owned(),
            node: node.name.to_owned(),
            uuid,
            minor: Some(card as i64),
            pci: Some(format!("00000000:{:02X}:00.0", 0xC0 - 0x11 * card)),
            scheduler: if node.told == Told::Claim { "kubernetes" } else { "slurm" }.to_owned(),
            ..blank::device()
        };
        if let Some(cut) = node.cut.filter(|_| card == 0) {
            for (instance, slices) in [(1, 3), (2, 4)] {
                let uuid = format!("MIG-{}-{instance}", node.name);
                out.push(DeviceRow {
                    device_id: device_id(&uuid),
                    parent_id: Some(row.device_id),
                    uuid,
                    first_seen_ms: ms(cut),
                    compute_slices: Some(slices),
                    ..row.clone()
                });
            }
        }
        out.push(row);
    }
    out
}

/// Ticks of a node in some minutes, with the processes seen in them.
fn ticks(fleet: &Fleet, at: usize, minutes: std::ops::Range<usize>) -> Vec<Segment> {
    let node = &fleet.nodes[at];
    let (mut ticks, mut processes) = (Vec::new(), Vec::new());
    for minute in minutes {
        let m = node.minutes[minute];
        if !m.watched {
            continue;
        }
        let now: Vec<(usize, &Job)> = fleet
            .jobs
            .iter()
            .enumerate()
            .filter(|(_, j)| j.node == at && j.start <= minute && minute < j.end)
            .collect();
        for card in 0..node.cards {
            let lost = node.lost.is_some_and(|(c, from, to)| c == card && from <= minute && minute < to);
            let wall = ms(minute) + m.wrong_ms;
            let mut tick = DeviceMinuteRow {
                day: day_of(wall) as i32,
                device_id: device_id(&card_uuid(node, card)),
                boot_id: boot_id(node.name, &m.boot.to_string()),
                seq: (minute - m.boot) as i64 + 1,
                tick_ms: wall,
                mono_ms: (minute - m.boot) as i64 * 60_000,
                synchronised: m.wrong_ms == 0,
                ..blank::tick()
            };
            if lost {
                (tick.state, tick.gpu_util_ppm) = ("lost".to_owned(), None);
                ticks.push(tick);
                continue;
            }
            for (number, job) in &now {
                for (k, thing) in job.things.iter().enumerate().filter(|(_, t)| t.card == card) {
                    let mut row = blank::process(&tick);
                    row.hint_id = hint(fleet, job);
                    row.pid = (number * 10 + k) as i64;
                    row.busy_ms = Some(job.busy_ms(thing, minute));
                    row.instance_id = instance_id(node, thing);
                    processes.push(row);
                    tick.process_count += 1;
                }
            }
            ticks.push(tick);
        }
    }
    pair(node.name, &processes, &ticks).expect("a pair")
}

/// First minute in which the node looks, from one on.
pub(super) fn looked(node: &Node, from: usize) -> Option<usize> {
    (from..DAY).find(|m| node.minutes[*m].watched)
}

/// Claims of a node that are written in some minutes: when it first sees one, and when it sees it gone.
fn claims(fleet: &Fleet, at: usize, minutes: &std::ops::Range<usize>) -> Vec<DeviceClaimRow> {
    let node = &fleet.nodes[at];
    let mut out = Vec::new();
    for job in fleet.jobs.iter().filter(|j| j.node == at && node.told == Told::Claim) {
        let Some(first) = looked(node, job.start).filter(|m| *m < job.end) else { continue };
        for (k, thing) in job.things.iter().enumerate() {
            let row = DeviceClaimRow {
                claim_id: id63("claim", &[node.name, &job.raw, &k.to_string()]),
                cluster: node.cluster.to_owned(),
                node: node.name.to_owned(),
                device_id: device_id(&card_uuid(node, thing.card)),
                instance_id: instance_id(node, thing),
                hint_id: hint(fleet, job),
                hint: format!("pod:{}", job.raw),
                evidence: "kubelet".to_owned(),
                share_units: thing.share,
                container: None,
                resource: None,
                from_ms: ms(first) + 20_000,
                to_ms: None,
                as_of_ms: ms(first) + 20_000,
            };
            let gone = looked(node, job.end).filter(|m| minutes.contains(m)).map(|m| ms(m) + 20_000);
            out.extend(gone.map(|to| DeviceClaimRow { to_ms: Some(to), as_of_ms: to, ..row.clone() }));
            out.extend(minutes.contains(&first).then_some(row));
        }
    }
    out
}

/// What a look adds, by kind of row.
#[derive(Debug, Clone, Default)]
struct Look {
    jobs: Vec<JobRow>,
    runs: Vec<AllocationRow>,
    holdings: Vec<AllocationDeviceRow>,
    states: Vec<NodeStateRow>,
    readings: Vec<ReadingRow>,
}

/// A collector of a cluster, as it looks on.
struct Watcher<'a> {
    fleet: &'a Fleet,
    cluster: &'static str,
    /// Epoch in which each job was written, and whether it is told how it ended.
    written: Vec<Option<i64>>,
    over: Vec<bool>,
    states: Vec<Option<NodeStateRow>>,
    /// The good look before, and its epoch.
    before: Option<(usize, i64)>,
    /// Until when each job is known to have run.
    ends: &'a mut Vec<Option<usize>>,
}

impl Watcher<'_> {
    fn look(&mut self, minute: usize, epoch: Option<i64>) -> Look {
        let mut out = Look::default();
        let source = format!("{}:{}", self.cluster, epoch.or(self.before.map(|b| b.1)).unwrap_or(1));
        let from = self.before.filter(|b| Some(b.1) == epoch).map_or(minute, |b| b.0);
        out.readings.push(ReadingRow {
            source: source.clone(),
            kind: "scheduler".to_owned(),
            cluster: self.cluster.to_owned(),
            node: None,
            read_at_ms: ms(minute),
            from_ms: ms(from),
            to_ms: ms(minute),
            ok: epoch.is_some(),
            rows: 0,
            error: epoch.is_none().then(|| "timeout".to_owned()),
        });
        let Some(epoch) = epoch else { return out };
        for number in 0..self.fleet.jobs.len() {
            if self.fleet.node_of(&self.fleet.jobs[number]).cluster == self.cluster {
                self.job(&mut out, number, minute, epoch, &source);
            }
        }
        for at in 0..self.fleet.nodes.len() {
            self.node(&mut out, at, minute, &source);
        }
        self.before = Some((minute, epoch));
        out
    }

    fn job(&mut self, out: &mut Look, number: usize, minute: usize, epoch: i64, source: &str) {
        let job = &self.fleet.jobs[number];
        if minute < job.start || self.over[number] {
            return;
        }
        let row = AllocationRow { source: source.to_owned(), as_of_ms: ms(minute), ..self.run(job) };
        let first = self.written[number].is_none();
        if minute < job.end {
            self.ends[number] = Some(minute);
            if self.written[number] != Some(epoch) {
                self.written[number] = Some(epoch);
                out.runs.push(row);
            }
        } else if job.vanishes && !first {
            self.over[number] = true;
            let shown = self.ends[number].map(ms);
            out.runs
                .extend((self.written[number] == Some(epoch)).then_some(AllocationRow { last_seen_ms: shown, ..row }));
        } else {
            self.over[number] = true;
            self.ends[number] = Some(job.end);
            self.written[number] = Some(epoch);
            let (end_ms, state) = (Some(ms(job.end)), "COMPLETED".to_owned());
            out.runs.push(AllocationRow { end_ms, terminal: true, state, ..row });
        }
        if first {
            out.jobs.push(self.request(job, minute, source));
            out.holdings.extend(self.holdings(job, minute));
        }
    }

    fn run(&self, job: &Job) -> AllocationRow {
        let submit = ms(job.start) - 5_000;
        AllocationRow {
            allocation_id: run_id(self.fleet, job),
            job_id: job_id(self.cluster, &job.raw, submit),
            hint_id: hint_of_job(self.cluster, &job.raw),
            cluster: self.cluster.to_owned(),
            job_raw: job.raw.clone(),
            submit_ms: submit,
            start_ms: ms(job.start),
            gpu_units: job.things.iter().map(|t| t.share).sum(),
            gpu_count: job.things.len() as i64,
            sluid: job.sluid.then(|| sluid(job)),
            ..blank::allocation()
        }
    }

    fn request(&self, job: &Job, minute: usize, source: &str) -> JobRow {
        let run = self.run(job);
        JobRow {
            job_id: run.job_id,
            cluster: run.cluster,
            job_raw: run.job_raw,
            submit_ms: run.submit_ms,
            req_gpu_units: Some(run.gpu_units),
            source: source.to_owned(),
            as_of_ms: ms(minute),
            ..blank::job()
        }
    }

    fn holdings(&self, job: &Job, minute: usize) -> Vec<AllocationDeviceRow> {
        let node = self.fleet.node_of(job);
        let all = job.things.iter().map(|t| t.share).sum();
        let row = |index: Option<usize>, share_units: i64| AllocationDeviceRow {
            holding_id: id63("holding", &[self.cluster, &job.raw, &format!("{index:?}")]),
            allocation_id: run_id(self.fleet, job),
            cluster: self.cluster.to_owned(),
            node: Some(node.name.to_owned()),
            device_id: None,
            instance_id: None,
            model: None,
            share_units,
            evidence: if index.is_some() { "gres" } else { "count" }.to_owned(),
            gres_index: index.map(|i| i as i64),
            index_rule: index.map(|_| if node.told == Told::Minor { "minor" } else { "nvml" }.to_owned()),
            from_ms: None,
            to_ms: None,
            as_of_ms: ms(minute),
        };
        let indexed = |index: &dyn Fn(&Thing) -> usize| {
            job.things.iter().map(|t| row(Some(index(t)), CARD_UNITS)).collect::<Vec<_>>()
        };
        match node.told {
            Told::Minor => indexed(&|t| t.card),
            Told::Pci => indexed(&|t| node.cards - 1 - t.card),
            Told::Found | Told::Claim => vec![row(None, all)],
        }
    }

    fn node(&mut self, out: &mut Look, at: usize, minute: usize, source: &str) {
        let node = &self.fleet.nodes[at];
        if node.cluster != self.cluster {
            return;
        }
        let state = if node.minutes[minute.min(DAY - 1)].up { "up" } else { "drained" };
        let before = self.states[at].clone().filter(|s| s.source == source);
        if before.as_ref().is_some_and(|s| s.state == state) {
            return;
        }
        out.states.extend(before.map(|s| NodeStateRow { to_ms: Some(ms(minute)), as_of_ms: ms(minute), ..s }));
        let row = NodeStateRow {
            cluster: self.cluster.to_owned(),
            node: node.name.to_owned(),
            from_ms: ms(minute),
            to_ms: None,
            state: state.to_owned(),
            reason: None,
            source: source.to_owned(),
            as_of_ms: ms(minute),
        };
        self.states[at] = Some(row.clone());
        out.states.push(row);
    }
}

/// Everything that is written about a day, and until when each job is known to have run.
pub(super) fn parcels(fleet: &Fleet) -> (Vec<Parcel>, Vec<Option<usize>>) {
    let mut out = Vec::new();
    let mut ends = vec![None; fleet.jobs.len()];
    for (at, node) in fleet.nodes.iter().enumerate() {
        for number in 0..DAY / PARCEL {
            let minutes = number * PARCEL..(number + 1) * PARCEL;
            let mut told: Vec<Segment> = Vec::new();
            if number == 0 {
                told.extend(segment(node.name, &devices(node)).expect("a segment"));
            }
            told.extend(segment(node.name, &claims(fleet, at, &minutes)).expect("a segment"));
            out.push(Parcel { number, node: None, cluster: None, segments: told });
            out.push(Parcel { number, node: Some(at), cluster: None, segments: ticks(fleet, at, minutes) });
        }
    }
    for (cluster, looks) in fleet.looks.clone() {
        let mut watcher = Watcher {
            fleet,
            cluster,
            written: vec![None; fleet.jobs.len()],
            over: vec![false; fleet.jobs.len()],
            states: vec![None; fleet.nodes.len()],
            before: None,
            ends: &mut ends,
        };
        let mut all = vec![Look::default(); DAY / PARCEL];
        for (minute, epoch) in looks.into_iter().enumerate() {
            let look = watcher.look(minute, epoch);
            // a look at the end of a parcel belongs to it
            let into = &mut all[minute.saturating_sub(1) / PARCEL];
            into.jobs.extend(look.jobs);
            into.runs.extend(look.runs);
            into.holdings.extend(look.holdings);
            into.states.extend(look.states);
            into.readings.extend(look.readings);
        }
        for (number, look) in all.into_iter().enumerate() {
            let mut segments = Vec::new();
            segments.extend(segment(cluster, &look.jobs).expect("a segment"));
            segments.extend(segment(cluster, &look.runs).expect("a segment"));
            segments.extend(segment(cluster, &look.holdings).expect("a segment"));
            segments.extend(segment(cluster, &look.states).expect("a segment"));
            segments.extend(segment(cluster, &look.readings).expect("a segment"));
            out.push(Parcel { number, node: None, cluster: Some(cluster), segments });
        }
    }
    (out, ends)
}
