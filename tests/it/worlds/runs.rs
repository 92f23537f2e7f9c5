//! Jobs and their runs: arrays, requeues, het jobs, overlapping shares and evidence, GPUs by count, accounting alone.

use gpuledger_schema::id::{allocation_id, hint_of_job, job_id};
use gpuledger_schema::table::{AllocationDeviceRow, AllocationRow, JobAverageRow, JobRow, ReadingRow};
use gpuledger_schema::unit::{CARD_UNITS, CELL_MS, share_units};

use super::make::{Flavor, MINUTE, Maker, Node, test_id};

/// A run as it truly was.
#[derive(Debug, Clone)]
pub(super) struct RunSpec {
    pub(super) hint_id: i64,
    pub(super) id: i64,
    pub(super) cluster: String,
    pub(super) raw: String,
    pub(super) start: i64,
    /// Absent: it runs.
    pub(super) end: Option<i64>,
    pub(super) node: String,
    /// Cards on which it has processes.
    pub(super) on: Vec<i64>,
    pub(super) instances: Vec<i64>,
    pub(super) as_of: i64,
}

impl RunSpec {
    pub(super) fn until(&self) -> i64 {
        self.end.unwrap_or(self.as_of)
    }
}

/// Runs of a node by its flavor.
pub(super) fn of_node(m: &mut Maker, node: &Node) {
    let count = match node.flavor {
        Flavor::Named => m.rng.range(2, 9),
        Flavor::Counted => m.rng.range(1, 5),
        Flavor::Bare | Flavor::Live => 0,
    };
    for i in 0..count {
        let raw = format!("{}{i}", &node.name[1..]);
        match node.flavor {
            Flavor::Named => named(m, node, &raw),
            _ => {
                let place =
                    m.rng.pick(&[node.name.as_str(), &node.name, &node.name, &node.name, "", "ghost"]).to_owned();
                counted(m, &place, &raw);
                let on = node.cards.iter().map(|c| c.id).collect();
                if let Some(run) = m.runs.last_mut() {
                    run.node = node.name.clone();
                    run.on = on;
                }
                if m.rng.chance(25) {
                    let (run, card) = (m.runs[m.runs.len() - 1].clone(), node.cards[0].id);
                    m.hold(&run, &node.name, Some(card), None, CARD_UNITS, "gres", (None, None));
                }
            }
        }
    }
}

/// A run that holds one or all cards of a node by name; at times it is put back and runs again.
fn named(m: &mut Maker, node: &Node, raw: &str) {
    let raw = match m.rng.range(0, 6) {
        0 => format!("{raw}_{}", m.rng.range(0, 9)),
        1 => format!("{raw}+1"),
        _ => raw.to_owned(),
    };
    let start = m.start();
    let mut run = m.run(&raw, start, None, &node.name, 1);
    hold_named(m, node, &run);
    if m.rng.chance(30) {
        if let Some(end) = run.end.filter(|e| *e < m.as_of - MINUTE) {
            let gap = m.rng.range(0, 3 * MINUTE);
            let again = end + if m.rng.chance(30) { 0 } else { gap };
            let length = m.rng.chance(25).then_some(0);
            run = m.run(&raw, again, length, &node.name, 1);
            hold_named(m, node, &run);
            if length.is_some() && again + 1 < m.as_of {
                let third = again + 1 + m.rng.range(0, 40_000);
                let run = m.run(&raw, third, None, &node.name, 1);
                hold_named(m, node, &run);
            }
        }
    }
}

fn hold_named(m: &mut Maker, node: &Node, run: &RunSpec) {
    let index = m.runs.iter().rposition(|r| r.id == run.id).expect("a run was made");
    let all = m.rng.chance(25);
    let chosen = m.rng.range(0, node.cards.len() as i64) as usize;
    for (i, card) in node.cards.iter().enumerate() {
        if !all && i != chosen {
            continue;
        }
        m.runs[index].on.push(card.id);
        if !card.instances.is_empty() && m.rng.chance(50) {
            let whole = m.rng.chance(50);
            for instance in card.instances.iter().take(m.rng.range(1, 3) as usize) {
                let from = (!whole).then(|| m.rng.range(run.start, run.until()));
                let share = share_units(m.rng.pick(&[1, 3]), 7).expect("a share").0;
                m.hold(run, &node.name, Some(card.id), Some(*instance), share, "cgroup", (from, None));
                m.runs[index].instances.push(*instance);
            }
            continue;
        }
        let (num, den) = m.rng.pick(&[(1, 1), (1, 1), (1, 1), (1, 7), (3, 7), (1, 3), (1, 2), (1, 1000), (2, 7)]);
        let share = share_units(num, den).expect("a share").0;
        let evidence = m.rng.pick(&["gres", "gres", "cgroup", "kubelet", "process"]);
        let from = m.rng.maybe(20, run.start - MINUTE, run.until());
        let to = m.rng.maybe(20, run.start + 1, run.until() + MINUTE);
        m.hold(run, &node.name, Some(card.id), None, share, evidence, (from, to));
        if m.rng.chance(20) {
            let other = m.rng.pick(&["gres", "cgroup", "kubelet"]);
            let to = m.rng.maybe(50, run.start + 1, run.until() + MINUTE);
            if other != evidence || to.is_some() {
                m.hold(run, &node.name, Some(card.id), None, share, other, (from, to));
            }
        }
    }
}

/// A run that holds so many GPUs on a node ('' for anywhere), unnamed.
pub(super) fn counted(m: &mut Maker, node: &str, raw: &str) {
    let start = m.start();
    let gpus = m.rng.range(1, 4);
    let run = m.run(&format!("c{raw}"), start, None, node, gpus);
    let share = if m.rng.chance(15) { CARD_UNITS / 2 } else { gpus * CARD_UNITS };
    m.hold(&run, node, None, None, share, "count", (None, None));
    if m.rng.chance(10) {
        m.hold(&run, "n7", None, None, CARD_UNITS, "count", (None, None));
    }
}

/// Another cluster of which nothing but accounting is known.
pub(super) fn accounting_only(m: &mut Maker) {
    let cluster = m.cluster.clone();
    m.cluster = format!("{cluster}-acct");
    for i in 0..m.rng.range(1, 5) {
        let node = m.rng.pick(&["x1", "x2", ""]);
        counted(m, node, &format!("{i}"));
        let id = m.runs[m.runs.len() - 1].id;
        if m.rng.chance(50) {
            m.facts.job_average.push(JobAverageRow {
                allocation_id: id,
                measure: "gpu_util".to_owned(),
                unit: "ppm".to_owned(),
                value: m.rng.range(0, 1_000_001),
                source: "sacct".to_owned(),
                as_of_ms: m.as_of,
            });
        }
    }
    m.facts.reading.push(ReadingRow {
        source: "sacct.txt".to_owned(),
        kind: "import".to_owned(),
        cluster: m.cluster.clone(),
        node: None,
        read_at_ms: m.as_of,
        from_ms: m.from,
        to_ms: m.as_of,
        ok: true,
        rows: 1,
        error: None,
    });
    m.cluster = cluster;
}

impl Maker {
    /// When a run starts: anywhere, at times on the grid or with the tick before.
    fn start(&mut self) -> i64 {
        let at = self.rng.range(self.from - 20 * MINUTE, self.as_of - MINUTE);
        if self.rng.chance(10) { at / CELL_MS * CELL_MS } else { at }
    }

    /// A run with its request and its readings.
    fn run(&mut self, raw: &str, start: i64, length: Option<i64>, node: &str, gpus: i64) -> RunSpec {
        let long = self.rng.pick(&[30_000, 10 * MINUTE, 40 * MINUTE, 40 * MINUTE]) * self.scale;
        let end = start + length.unwrap_or_else(|| self.rng.range(1, long));
        let running = end >= self.as_of || (length.is_none() && self.rng.chance(10));
        let seen = if self.rng.chance(30) { self.rng.range(start, self.as_of) } else { self.as_of };
        let id = allocation_id(&self.cluster, raw, start);
        let submit = start - self.rng.range(0, 30 * MINUTE);
        let run = RunSpec {
            hint_id: hint_of_job(&self.cluster, raw),
            id,
            cluster: self.cluster.clone(),
            raw: raw.to_owned(),
            start,
            end: (!running).then_some(end),
            node: node.to_owned(),
            on: Vec::new(),
            instances: Vec::new(),
            as_of: if running { seen } else { self.as_of },
        };
        self.request(&run, submit, gpus);
        let mut row = self.reading(&run, submit, gpus);
        if !running && self.rng.chance(40) {
            let mut early = row.clone();
            (early.end_ms, early.terminal, early.state) = (None, false, "RUNNING".to_owned());
            early.as_of_ms = self.rng.range(start, self.as_of + 1);
            self.facts.allocation.push(early);
        }
        if running && self.rng.chance(40) {
            let mut early = row.clone();
            early.as_of_ms = start;
            if early.as_of_ms < row.as_of_ms {
                self.facts.allocation.push(early);
            }
        }
        row.as_of_ms = run.as_of;
        self.facts.allocation.push(row);
        self.runs.push(run.clone());
        run
    }

    pub(super) fn request(&mut self, run: &RunSpec, submit_ms: i64, gpus: i64) {
        let text = |s: &str| Some(s.to_owned()).filter(|s| !s.is_empty());
        let user = self.rng.pick(&["ann", "bob", "eve"]);
        let account = self.rng.pick(&["physics", "physics", "bio", "atlas", ""]);
        let queue = self.rng.pick(&["train", "infer", ""]);
        let labels = self.rng.pick(&["", "", "project=x", "project=x\nteam=y", "project=xy"]);
        let name = self.rng.pick(&["train-1", "eval-7", "nb"]);
        self.facts.job.push(JobRow {
            job_id: job_id(&run.cluster, &run.raw, submit_ms),
            cluster: run.cluster.clone(),
            job_raw: run.raw.clone(),
            submit_ms,
            eligible_ms: Some(submit_ms),
            het_leader: run.raw.strip_suffix("+1").map(|raw| format!("{raw}+0")),
            array_job: run.raw.split_once('_').map(|(array, _)| array.to_owned()),
            array_task: run.raw.split_once('_').and_then(|(_, task)| task.parse().ok()),
            tasks: 1,
            state: "RUNNING".to_owned(),
            user: text(user),
            account: text(account),
            queue: text(queue),
            qos: None,
            name: text(name),
            labels: text(labels),
            workload_kind: None,
            priority: None,
            reservation: None,
            comment: None,
            req_gpu_units: Some(gpus * CARD_UNITS),
            req_model: text(self.rng.pick(&["", "L40S"])),
            req_mem_bytes: None,
            req_gpu_mem_bytes: None,
            req_cpus: None,
            req_nodes: None,
            time_limit_ms: None,
            pending_reason: None,
            workload_uid: None,
            workload_name: None,
            workload_replicas: None,
            priority_class: None,
            limit_cpus_milli: None,
            limit_mem_bytes: None,
            gone_ms: None,
            source: "sacct".to_owned(),
            as_of_ms: self.as_of,
        });
    }

    pub(super) fn reading(&mut self, run: &RunSpec, submit_ms: i64, gpus: i64) -> AllocationRow {
        let state = match run.end {
            None => "RUNNING",
            Some(_) => self.rng.pick(&["COMPLETED", "REQUEUED", "PREEMPTED", "FAILED"]),
        };
        AllocationRow {
            allocation_id: run.id,
            job_id: job_id(&run.cluster, &run.raw, submit_ms),
            hint_id: run.hint_id,
            cluster: run.cluster.clone(),
            job_raw: run.raw.clone(),
            submit_ms,
            start_ms: run.start,
            end_ms: run.end,
            terminal: run.end.is_some(),
            state: state.to_owned(),
            exit_code: None,
            nodes: Some(run.node.clone()).filter(|n| !n.is_empty()),
            node_count: Some(1),
            gpu_units: gpus * CARD_UNITS,
            gpu_count: gpus,
            gpu_exact: true,
            model: None,
            cpus: None,
            mem_bytes: None,
            gpu_mem_bytes: None,
            // said by its source or not, the same in every reading
            preemptible: [None, Some(false), Some(true)][(run.id % 3) as usize],
            last_checkpoint_ms: None,
            suspended_ms: None,
            sluid: None,
            original_sluid: None,
            end_reason: None,
            last_seen_ms: None,
            image_pull_ms: None,
            image_ready_ms: None,
            container_start_ms: None,
            source: "sacct".to_owned(),
            as_of_ms: run.as_of,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the columns of a holding")]
    fn hold(
        &mut self,
        run: &RunSpec,
        node: &str,
        device: Option<i64>,
        instance: Option<i64>,
        share_units: i64,
        evidence: &str,
        (from_ms, to_ms): (Option<i64>, Option<i64>),
    ) {
        let parts = [run.id, device.unwrap_or(0), instance.unwrap_or(0), from_ms.unwrap_or(0)].map(|v| v.to_string());
        let key: Vec<&str> = parts.iter().map(String::as_str).chain([node, evidence]).collect();
        let row = AllocationDeviceRow {
            holding_id: test_id("holding", &key),
            allocation_id: run.id,
            cluster: run.cluster.clone(),
            node: Some(node.to_owned()).filter(|n| !n.is_empty()),
            device_id: device,
            instance_id: instance,
            model: None,
            share_units,
            evidence: evidence.to_owned(),
            gres_index: None,
            index_rule: None,
            from_ms,
            to_ms,
            as_of_ms: self.as_of,
        };
        if self.facts.allocation_device.iter().any(|h| h.holding_id == row.holding_id) {
            return;
        }
        if self.rng.chance(15) {
            let older =
                AllocationDeviceRow { as_of_ms: self.as_of - MINUTE, to_ms: Some(run.start + 1), ..row.clone() };
            self.facts.allocation_device.push(older);
        }
        self.facts.allocation_device.push(row);
    }
}
