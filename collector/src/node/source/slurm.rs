//! What a node knows of Slurm without asking its controller: files that a prolog writes, and the process list of the
//! node's own daemons.
//!
//! Two kinds of files are read alike: jobstats' (`<GPU>` holds "job uid") and dcgm-exporter's HPC mapping (`<GPU>` or
//! `<GPU>.<instance>` holds job ids, a line each). A GPU is named by UUID or by an index, and what an index counts is a
//! setting, compared with where the jobs' processes are seen.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::card::Card;
use super::number;
use crate::node::attribute::{Allocation, Held};

pub mod listpids;

/// Most files of a mapping folder that are read: a node has fewer GPUs and instances.
const FILES_MAX: usize = 1024;
/// Most bytes of a mapping file that are read; a job id has some ten.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// What the scheduler's GPU index counts. It differs between nodes, and a wrong one puts jobs on others' cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexMeaning {
    /// The driver's order (PCI), as with `AutoDetect=nvml`.
    Nvml,
    /// The number in `/dev/nvidiaN`, as with plain `File=` lines.
    Minor,
    /// Written down: the UUIDs by index.
    Explicit(Vec<String>),
}

impl IndexMeaning {
    /// The card of an index.
    fn card<'a>(&self, index: u32, cards: &'a [Card]) -> Option<&'a Card> {
        match self {
            Self::Nvml => cards.iter().find(|c| c.nvml_index == Some(index)),
            Self::Minor => cards.iter().find(|c| c.minor == Some(index)),
            Self::Explicit(uuids) => {
                let uuid = uuids.get(usize::try_from(index).ok()?)?;
                cards.iter().find(|c| c.uuid == *uuid)
            }
        }
    }

    /// UUID of a GPU as a file names it; none where no card of the node is meant.
    pub fn uuid(&self, gpu: &Gpu, cards: &[Card]) -> Option<String> {
        match gpu {
            Gpu::Uuid(uuid) => Some(uuid.clone()),
            Gpu::Index { index, instance: None } => Some(self.card(*index, cards)?.uuid.clone()),
            Gpu::Index { index, instance: Some(gi) } => self.card(*index, cards)?.instance(|i| i.gi == *gi),
        }
    }
}

/// A GPU as a file of the mapping names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gpu {
    /// `GPU-...` or `MIG-...`.
    Uuid(String),
    /// `2` or `2.7`: what it counts is a setting.
    Index {
        /// The scheduler's index.
        index: u32,
        /// GPU instance of a card that is cut.
        instance: Option<u32>,
    },
}

impl Gpu {
    /// Reads the name of a file.
    pub fn named(name: &str) -> Option<Self> {
        if name.starts_with("GPU-") || name.starts_with("MIG-") {
            return Some(Self::Uuid(name.to_owned()));
        }
        let (index, instance) = match name.split_once('.') {
            Some((index, instance)) => (index, Some(number(instance)?)),
            None => (name, None),
        };
        Some(Self::Index { index: number(index)?, instance })
    }
}

/// A line of a mapping file: a job holds a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The GPU.
    pub gpu: Gpu,
    /// Raw job id.
    pub job: String,
    /// The job's user, where the file says so.
    pub uid: Option<u32>,
}

/// What is odd about the facts; they are used as far as they go, and the operator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A file, or a line of one, that cannot be read.
    Unread {
        /// The file's name.
        file: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file names a GPU that this node does not have.
    NoSuchGpu {
        /// The GPU.
        gpu: Gpu,
        /// The job that is said to hold it.
        job: String,
    },
    /// A job's processes were seen on GPUs that it does not hold by the record: the index may count something else.
    Elsewhere {
        /// Raw job id.
        job: String,
        /// UUIDs by the record.
        recorded: BTreeSet<String>,
        /// UUIDs where its processes were seen.
        seen: BTreeSet<String>,
        /// Whether the other reading of the index would fit what was seen.
        fits: Option<IndexMeaning>,
    },
}

/// Why Slurm's facts could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// The folder cannot be listed.
    #[error("cannot list the mapping folder `{folder}`")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// `scontrol` could not be run.
    #[error("cannot run `{program} listpids`")]
    Run {
        /// Its path.
        program: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It did not come back in time, and was ended.
    #[error("`{program} listpids` took longer than {deadline_ms} ms")]
    Late {
        /// Its path.
        program: PathBuf,
        /// The deadline.
        deadline_ms: u64,
    },
    /// It failed.
    #[error("`{program} listpids` failed with {status}")]
    Status {
        /// Its path.
        program: PathBuf,
        /// Its exit status.
        status: std::process::ExitStatus,
    },
    /// It printed something else than a process list.
    #[error("not a process list of Slurm: the columns PID, JOBID and STEPID are missing")]
    NoProcessList,
}

/// The mapping folder's lines, in order of the files' names, and what could not be read of them.
pub fn read_mapping(folder: &Path) -> Result<(Vec<Mapped>, Vec<Warning>), SlurmError> {
    let failed = |source| SlurmError::Folder { folder: folder.to_owned(), source };
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)?.take(FILES_MAX) {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let (mut mapped, mut warnings) = (Vec::new(), Vec::new());
    for name in names {
        match read_bounded(&folder.join(&name)) {
            Ok(text) => {
                let (lines, odd) = parse_mapping(&name, &text);
                mapped.extend(lines);
                warnings.extend(odd);
            }
            // The epilog may delete a file while the folder is read: its job is over.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => warnings.push(Warning::Unread { file: name, why: "it cannot be opened" }),
        }
    }
    Ok((mapped, warnings))
}

fn read_bounded(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// One mapping file: its name is the GPU, each line a raw job id and, in jobstats' files, the user's number.
pub fn parse_mapping(name: &str, text: &str) -> (Vec<Mapped>, Vec<Warning>) {
    let odd = |why| Warning::Unread { file: name.to_owned(), why };
    let Some(gpu) = Gpu::named(name) else {
        return (Vec::new(), vec![odd("its name is neither a UUID nor an index")]);
    };
    let (mut mapped, mut warnings) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let job = words.next().unwrap_or_default();
        let user = words.next();
        let uid = user.and_then(number);
        // `12_3` and `12+0` are how job ids are shown; another job has that raw id.
        if number(job).is_none() {
            warnings.push(odd("a line does not begin with a raw job id"));
        } else if user.is_some() && uid.is_none() {
            warnings.push(odd("a line's second word is not a user's number"));
        } else {
            mapped.push(Mapped { gpu: gpu.clone(), job: job.to_owned(), uid });
        }
    }
    (mapped, warnings)
}

/// Who holds which GPU by the mapping, by UUID; GPUs that the node does not have are warned of.
pub fn holders(
    mapped: &[Mapped],
    meaning: &IndexMeaning,
    cards: &[Card],
) -> (BTreeMap<String, Vec<Held>>, Vec<Warning>) {
    let (mut held, mut warnings) = (BTreeMap::<String, Vec<Held>>::new(), Vec::new());
    for line in mapped {
        match meaning.uuid(&line.gpu, cards) {
            Some(uuid) => {
                let by = Held { by: Allocation::Job(line.job.clone()), uid: line.uid };
                let on = held.entry(uuid).or_default();
                if !on.contains(&by) {
                    on.push(by);
                }
            }
            None => warnings.push(Warning::NoSuchGpu { gpu: line.gpu.clone(), job: line.job.clone() }),
        }
    }
    (held, warnings)
}

/// Compares the mapping with where jobs' processes were seen (raw job id to UUIDs, by their cgroups alone).
///
/// A job that the mapping does not know is no matter of indices, and is left to the ledger.
pub fn cross_check(
    mapped: &[Mapped],
    meaning: &IndexMeaning,
    cards: &[Card],
    seen: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<Warning> {
    let recorded = |job: &str, meaning: &IndexMeaning| -> BTreeSet<String> {
        mapped.iter().filter(|m| m.job == job).filter_map(|m| meaning.uuid(&m.gpu, cards)).collect()
    };
    let mut warnings = Vec::new();
    for (job, seen) in seen {
        let by_setting = recorded(job, meaning);
        if by_setting.is_empty() || seen.is_subset(&by_setting) {
            continue;
        }
        let fits = [IndexMeaning::Nvml, IndexMeaning::Minor]
            .into_iter()
            .find(|other| other != meaning && seen.is_subset(&recorded(job, other)));
        warnings.push(Warning::Elsewhere { job: job.clone(), recorded: by_setting, seen: seen.clone(), fits });
    }
    warnings
}

#[cfg(test)]
mod tests;
