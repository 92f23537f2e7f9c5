//! Column maps: a TOML file that says which columns of a job table mean what, and in which unit.
//!
//! A map is written once per exporting system. What it does not say is not guessed: an unknown key, an unknown word
//! or a naive time without a zone stops the import before the first record.

use std::collections::BTreeMap;

use chrono::DateTime;
use chrono_tz::Tz;
use gpuledger_schema::state::RunState;
use gpuledger_schema::window::{WindowError, zone};
use serde::Deserialize;

mod columns;
mod field;

pub(super) use field::{Anchor, Count, Format, Instant, Memory, MemoryUnit, Span, SpanUnit, Text};

/// A column map, checked.
#[derive(Debug, Clone)]
pub struct Map {
    pub(super) source: String,
    pub(super) delimiter: u8,
    pub(super) columns: Option<Vec<String>>,
    pub(super) absent: Vec<String>,
    pub(super) zone: Option<Tz>,
    pub(super) origin_ms: Option<i64>,
    pub(super) time: Times,
    pub(super) job: JobFields,
    pub(super) state: State,
    pub(super) granted: Granted,
    pub(super) asked: Asked,
    pub(super) averages: Vec<Average>,
}

/// Why a map cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// Not TOML, or a key or word that no map has.
    #[error("the map cannot be read")]
    Toml {
        /// Where and why.
        source: toml::de::Error,
    },
    /// A zone that is none.
    #[error("the map's key `time.zone` is not valid")]
    Zone {
        /// Why.
        source: WindowError,
    },
    /// Keys that contradict each other, or one that is missing.
    #[error("the map's key `{key}` is not valid: {reason}")]
    Key {
        /// The key.
        key: String,
        /// Why, and what to write.
        reason: String,
    },
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    source: String,
    #[serde(default)]
    file: RawFile,
    time: Times,
    #[serde(default)]
    job: JobFields,
    #[serde(default)]
    state: RawState,
    granted: Granted,
    #[serde(default)]
    asked: Asked,
    #[serde(default, rename = "average")]
    averages: Vec<Average>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) delimiter: Option<String>,
    pub(super) columns: Option<Vec<String>>,
    #[serde(default)]
    pub(super) absent: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawState {
    column: Option<String>,
    constant: Option<String>,
    words: Option<BTreeMap<String, String>>,
}

/// When things happened.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Times {
    zone: Option<String>,
    origin: Option<String>,
    pub(super) submit: Instant,
    pub(super) eligible: Option<Instant>,
    pub(super) start: Instant,
    pub(super) end: Option<Instant>,
    pub(super) duration: Option<Span>,
    #[serde(default)]
    pub(super) no_start: NoStart,
}

/// What a record without a start is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoStart {
    /// A faulty record.
    #[default]
    Refuse,
    /// A request that never got anything.
    NeverStarted,
}

/// Who and what.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFields {
    pub(super) id: Option<String>,
    pub(super) user: Option<Text>,
    pub(super) account: Option<Text>,
    pub(super) queue: Option<Text>,
    pub(super) qos: Option<Text>,
    pub(super) name: Option<Text>,
    pub(super) workload_kind: Option<Text>,
    pub(super) exit_code: Option<Text>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, Text>,
}

/// How the state is known.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// `ENDED` where there is an end, `RUNNING` where there is none.
    ByEnd,
    /// The same for every run.
    Constant(RunState),
    /// A column and what its words mean.
    Column { column: String, words: BTreeMap<String, RunState> },
}

/// What a run got.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Granted {
    pub(super) gpus: Count,
    pub(super) gpu_share: Option<Count>,
    pub(super) model: Option<Text>,
    pub(super) node: Option<Text>,
    pub(super) nodes: Option<Text>,
    pub(super) node_count: Option<Count>,
    pub(super) cpus: Option<Count>,
    pub(super) mem: Option<Memory>,
    pub(super) gpu_mem: Option<Memory>,
}

/// What was asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) gpus: Option<Count>,
    pub(super) gpu_share: Option<Count>,
    pub(super) model: Option<Text>,
    pub(super) node_count: Option<Count>,
    pub(super) cpus: Option<Count>,
    pub(super) mem: Option<Memory>,
    pub(super) gpu_mem: Option<Memory>,
    pub(super) time_limit: Option<Span>,
}

/// A measured average of the run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Average {
    pub(super) measure: Measure,
    pub(super) column: String,
    pub(super) unit: AverageUnit,
}

/// What is averaged; the closed list of the table `job_average`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Measure {
    GpuUtil,
    Sm,
    Dram,
    Tensor,
    GpuMemUsed,
    GpuMemPeak,
    HostMemUsed,
    CpuLoad,
}

impl Measure {
    /// The word in the table.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::GpuUtil => "gpu_util",
            Self::Sm => "sm",
            Self::Dram => "dram",
            Self::Tensor => "tensor",
            Self::GpuMemUsed => "gpu_mem_used",
            Self::GpuMemPeak => "gpu_mem_peak",
            Self::HostMemUsed => "host_mem_used",
            Self::CpuLoad => "cpu_load",
        }
    }

    /// Whether it is bytes; the others are parts per million.
    pub(super) const fn is_bytes(self) -> bool {
        matches!(self, Self::GpuMemUsed | Self::GpuMemPeak | Self::HostMemUsed)
    }
}

/// The unit of an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum AverageUnit {
    Part(PartUnit),
    Memory(MemoryUnit),
}

/// How a part is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PartUnit {
    Percent,
    Ratio,
    Ppm,
}

impl Map {
    /// Reads and checks a map.
    pub fn parse(text: &str) -> Result<Self, MapError> {
        let raw: Raw = toml::from_str(text).map_err(|source| MapError::Toml { source })?;
        let no_zone = |source| MapError::Zone { source };
        let map = Self {
            delimiter: delimiter(raw.file.delimiter.as_deref())?,
            zone: raw.time.zone.as_deref().map(zone).transpose().map_err(no_zone)?,
            origin_ms: raw.time.origin.as_deref().map(origin).transpose()?,
            state: state(raw.state)?,
            source: raw.source,
            columns: raw.file.columns,
            absent: raw.file.absent,
            time: raw.time,
            job: raw.job,
            granted: raw.granted,
            asked: raw.asked,
            averages: raw.averages,
        };
        map.check()?;
        Ok(map)
    }

    /// The name under which its files are one record set.
    pub fn source(&self) -> &str {
        &self.source
    }

    fn check(&self) -> Result<(), MapError> {
        let time = &self.time;
        if self.source.trim().is_empty() {
            return Err(wrong("source", "name the system that the table comes from"));
        }
        if time.submit == Instant::From(Anchor::Submit) || time.start == Instant::From(Anchor::Start) {
            return Err(wrong("time", "an instant cannot be taken from itself"));
        }
        let from_start = time.submit == Instant::From(Anchor::Start);
        if from_start && time.start == Instant::From(Anchor::Submit) {
            return Err(wrong("time.start", "`submit` and `start` are each taken from the other: one needs a column"));
        }
        if from_start && time.no_start == NoStart::NeverStarted {
            return Err(wrong("time.no_start", "a request that never started needs a `submit` of its own"));
        }
        if time.end.is_some() && time.duration.is_some() {
            return Err(wrong("time.duration", "give either `end` or `duration`"));
        }
        let instants = [Some(&time.submit), time.eligible.as_ref(), Some(&time.start), time.end.as_ref()];
        let relative = |i: &&Instant| matches!(i, Instant::Column { format: Format::Relative(_), .. });
        if self.origin_ms.is_none() && instants.into_iter().flatten().any(|i| relative(&i)) {
            return Err(wrong("time.origin", "relative times need the instant they count from (2023-01-01T00:00:00Z)"));
        }
        for (at, average) in self.averages.iter().enumerate() {
            let name = average.measure.as_str();
            if average.measure.is_bytes() != matches!(average.unit, AverageUnit::Memory(_)) {
                return Err(wrong("average", &format!("`{name}` cannot have this unit")));
            }
            if self.averages[..at].iter().any(|a| a.measure == average.measure) {
                return Err(wrong("average", &format!("`{name}` is mapped twice")));
            }
        }
        Ok(())
    }

    /// Whether any of its instants is a local time without an offset, and which.
    pub(super) fn local_key(&self) -> Option<&'static str> {
        let time = &self.time;
        let instants = [
            ("time.submit", Some(&time.submit)),
            ("time.eligible", time.eligible.as_ref()),
            ("time.start", Some(&time.start)),
            ("time.end", time.end.as_ref()),
        ];
        let local = |i: Option<&Instant>| matches!(i, Some(Instant::Column { format: Format::Local(_), .. }));
        instants.into_iter().find(|(_, i)| local(*i)).map(|(key, _)| key)
    }
}

pub(super) fn wrong(key: &str, reason: &str) -> MapError {
    MapError::Key { key: key.to_owned(), reason: reason.to_owned() }
}

/// An origin carries its offset: a bare date would leave a zone to guess.
pub(super) fn origin(text: &str) -> Result<i64, MapError> {
    let bad = |_| wrong("time.origin", &format!("`{text}` is no instant with an offset, such as 2023-01-01T00:00:00Z"));
    DateTime::parse_from_rfc3339(text).map(|t| t.timestamp_millis()).map_err(bad)
}

pub(super) fn delimiter(text: Option<&str>) -> Result<u8, MapError> {
    match text.unwrap_or(",").as_bytes() {
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err(wrong("file.delimiter", "it must be one ASCII character, such as \",\" or \"\\t\"")),
    }
}

fn state(raw: RawState) -> Result<State, MapError> {
    let word = |key: &str, text: &str| {
        text.parse::<RunState>().map_err(|_| {
            let all: Vec<_> = RunState::ALL.iter().map(|s| s.as_str()).collect();
            wrong(key, &format!("`{text}` is no state: use one of {}", all.join(", ")))
        })
    };
    match raw {
        RawState { column: None, constant: None, words: None } => Ok(State::ByEnd),
        RawState { column: None, constant: Some(text), words: None } => {
            word("state.constant", &text).map(State::Constant)
        }
        RawState { column: Some(column), constant: None, words } => {
            let words = match words {
                None => RunState::ALL.iter().map(|s| (s.as_str().to_owned(), *s)).collect(),
                Some(words) => words
                    .iter()
                    .map(|(from, to)| Ok((from.clone(), word(&format!("state.words.{from}"), to)?)))
                    .collect::<Result<_, MapError>>()?,
            };
            Ok(State::Column { column, words })
        }
        _ => Err(wrong("state", "give `column` (and `words`), or only `constant`")),
    }
}

#[cfg(test)]
mod tests;
