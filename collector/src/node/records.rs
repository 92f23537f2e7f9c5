//! Who holds which device by the node's own records: the kubelet's, or Slurm's. They are looked at once a minute beside
//! the polls, so that a slow one holds up nothing, and one that fails is no evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use gpuledger_schema::state::SchedulerKind;

use super::attribute::{Held, Site};
use super::claims;
use super::config::{GresIndex, NodeConfig};
use super::metrics::NodeMetrics;
use super::seen::{Clock, Process};
use super::source::card::Card;
use super::source::kubelet::{Kubelet, KubeletSettings, Record};
use super::source::slurm::listpids::ProcessList;
use super::source::slurm::{self, IndexMeaning, Mapped};
use super::stopwatch::Stopwatch;
use super::tick::CardTick;

/// How often the records are looked at.
const EVERY: Duration = Duration::from_secs(60);
/// How long `scontrol listpids` may take.
const LISTPIDS_DEADLINE_MS: u64 = 5_000;

/// What the last looks gave.
#[derive(Debug, Clone, Default)]
struct Looked {
    pods: Option<Record>,
    /// When they were looked at, by the wall clock.
    pods_ms: i64,
    mapped: Vec<Mapped>,
    /// When all of the prolog's folders were read; none where one could not be.
    mapped_ms: Option<i64>,
    processes: Option<ProcessList>,
}

/// The records, kept fresh by a task.
#[derive(Debug)]
pub(super) struct Records {
    newest: watch::Receiver<Arc<Looked>>,
    index: IndexMeaning,
}

/// What the records say of the cards of one tick.
#[derive(Debug, Default)]
pub(super) struct Known {
    looked: Arc<Looked>,
    held: BTreeMap<String, Vec<Held>>,
    /// What is odd about the records, for the log.
    pub(super) odd: Vec<String>,
}

impl Records {
    /// Starts to look. Nothing is looked at on a bare host.
    pub(super) fn start(config: &NodeConfig, clock: Arc<dyn Clock>, metrics: Arc<NodeMetrics>) -> Self {
        let (tell, newest) = watch::channel(Arc::default());
        let keeper = Keeper::of(config);
        if keeper.has_work() {
            tokio::spawn(keeper.run(clock, metrics, tell));
        }
        Self { newest, index: index_of(config) }
    }

    /// What the newest looks say of these cards.
    pub(super) fn of(&self, cards: &[Card]) -> Known {
        let looked = Arc::clone(&self.newest.borrow());
        let (mut held, warnings) = slurm::holders(&looked.mapped, &self.index, cards);
        let mut odd: Vec<String> = warnings.iter().map(|w| format!("{w:?}")).collect();
        if let Some(record) = &looked.pods {
            let (by_pods, strange) = record.by_uuid(cards);
            for (uuid, mut pods) in by_pods {
                held.entry(uuid).or_default().append(&mut pods);
            }
            odd.extend(
                strange.iter().map(|d| format!("the kubelet names a device that this node does not have: {d:?}")),
            );
        }
        Known { looked, held, odd }
    }

    /// What the newest looks say of who was given these cards.
    pub(super) fn given(&self, site: &Site, cards: &[Card], ticks: &[CardTick]) -> claims::Looked {
        let looked = Arc::clone(&self.newest.borrow());
        let mut out = claims::Looked::default();
        if let Some(record) = &looked.pods {
            out.add_pods(site, record, looked.pods_ms, cards, ticks);
        }
        if let Some(at_ms) = looked.mapped_ms {
            out.add_jobs(site, &looked.mapped, &self.index, at_ms, cards, ticks);
        }
        out
    }

    /// What the prolog's folder and where jobs' processes were seen (raw job id to UUIDs) say against each other.
    pub(super) fn contradictions(&self, cards: &[Card], seen: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
        let mapped = &self.newest.borrow().mapped;
        slurm::cross_check(mapped, &self.index, cards, seen).iter().map(|w| format!("{w:?}")).collect()
    }
}

impl Known {
    /// Who holds a card or instance.
    pub(super) fn holders(&self, uuid: &str) -> &[Held] {
        self.held.get(uuid).map_or(&[], Vec::as_slice)
    }

    /// The job that Slurm's daemon counts a process to.
    pub(super) fn job(&self, process: Process, ticks_per_second: u64) -> Option<&str> {
        self.looked.processes.as_ref()?.job(process, ticks_per_second)
    }
}

fn index_of(config: &NodeConfig) -> IndexMeaning {
    match config.gres_index {
        GresIndex::Nvml => IndexMeaning::Nvml,
        GresIndex::Minor => IndexMeaning::Minor,
        GresIndex::Explicit => {
            let by_index = config.gres_map();
            let last = by_index.keys().next_back().map_or(0, |last| last + 1);
            IndexMeaning::Explicit((0..last).map(|i| by_index.get(&i).cloned().unwrap_or_default()).collect())
        }
    }
}

/// Looks at the records.
struct Keeper {
    kubelet: Option<Kubelet>,
    folders: Vec<PathBuf>,
    processes: Option<ProcessList>,
}

impl Keeper {
    fn of(config: &NodeConfig) -> Self {
        let kubelet = (config.scheduler == SchedulerKind::Kubernetes).then(|| {
            Kubelet::new(KubeletSettings {
                socket: config.kubelet_socket.clone(),
                logs: config.pod_logs.clone(),
                cgroups: config.sys_root.join("fs/cgroup"),
                ..KubeletSettings::default()
            })
        });
        let slurm = config.scheduler == SchedulerKind::Slurm;
        let scontrol = config.slurm_scontrol.clone().filter(|_| slurm);
        Self {
            kubelet,
            folders: if slurm { config.slurm_map_folders.clone() } else { Vec::new() },
            processes: scontrol.map(|program| ProcessList::new(program, LISTPIDS_DEADLINE_MS)),
        }
    }

    fn has_work(&self) -> bool {
        self.kubelet.is_some() || self.processes.is_some() || !self.folders.is_empty()
    }

    async fn run(mut self, clock: Arc<dyn Clock>, metrics: Arc<NodeMetrics>, tell: watch::Sender<Arc<Looked>>) {
        while !tell.is_closed() {
            let looked = self.look(&*clock, &metrics).await;
            tell.send_replace(Arc::new(looked));
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn look(&mut self, clock: &dyn Clock, metrics: &NodeMetrics) -> Looked {
        let mut out = Looked::default();
        if let Some(kubelet) = &mut self.kubelet {
            let took = Stopwatch::start();
            let now = clock.now();
            let seen = kubelet.refresh(now).await;
            out.pods_ms = now.wall_ms;
            metrics.looked("kubelet", took.read(), seen.is_err());
            if let Err(e) = seen {
                tracing::warn!(error = &e as &dyn std::error::Error, "the kubelet's record");
            }
            out.pods = kubelet.record().cloned();
        }
        let folders_ms = clock.now().wall_ms;
        let mut all_read = !self.folders.is_empty();
        for folder in &self.folders {
            let took = Stopwatch::start();
            let seen = slurm::read_mapping(folder);
            metrics.looked("slurm_map", took.read(), seen.is_err());
            match seen {
                Ok((mapped, warnings)) => {
                    out.mapped.extend(mapped);
                    warnings.iter().for_each(|w| tracing::warn!("{w:?}"));
                }
                Err(e) => {
                    all_read = false;
                    tracing::warn!(error = &e as &dyn std::error::Error, "the prolog's folder");
                }
            }
        }
        out.mapped_ms = all_read.then_some(folders_ms);
        if let Some(processes) = &mut self.processes {
            let took = Stopwatch::start();
            let seen = processes.refresh(clock.now()).await;
            metrics.looked("slurm_listpids", took.read(), seen.is_err());
            match seen {
                Ok(()) => out.processes = Some(processes.clone()),
                Err(e) => tracing::warn!(error = &e as &dyn std::error::Error, "the process list of Slurm"),
            }
        }
        out
    }
}
