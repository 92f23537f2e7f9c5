//! The map of a series: which columns hold the instant, the team, the pool, and quota, held and queued GPUs.

use chrono_tz::Tz;
use gpuledger_schema::window::zone;
use serde::Deserialize;

use crate::import::map::{Count, Format, Instant, MapError, RawFile, Text, delimiter, origin, wrong};

/// Greatest step of a series: a day. A longer one is a wrong unit.
const STEP_S_MAX: i64 = 86_400;

/// A series map, checked.
#[derive(Debug, Clone)]
pub struct SeriesMap {
    pub(super) source: String,
    pub(super) delimiter: u8,
    pub(super) columns: Option<Vec<String>>,
    pub(super) absent: Vec<String>,
    pub(super) zone: Option<Tz>,
    pub(super) origin_ms: Option<i64>,
    pub(super) at: Instant,
    /// How long a row stands at most; absent: until the next one of its team and pool.
    pub(super) step_ms: Option<i64>,
    pub(super) values: RawSeries,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    source: String,
    #[serde(default)]
    file: RawFile,
    time: RawTime,
    series: RawSeries,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTime {
    zone: Option<String>,
    origin: Option<String>,
    at: Instant,
    step_s: Option<i64>,
}

/// What a row says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSeries {
    pub(super) team: Option<Text>,
    pub(super) pool: Option<Text>,
    pub(super) quota: Option<Count>,
    pub(super) held: Option<Count>,
    pub(super) queued: Option<Count>,
    pub(super) queued_jobs: Option<Count>,
}

impl SeriesMap {
    /// Reads and checks a map.
    ///
    /// # Errors
    /// An unknown key or word, keys that contradict each other, or a map that maps nothing.
    pub fn parse(text: &str) -> Result<Self, MapError> {
        let raw: Raw = toml::from_str(text).map_err(|source| MapError::Toml { source })?;
        let map = Self {
            delimiter: delimiter(raw.file.delimiter.as_deref())?,
            zone: raw.time.zone.as_deref().map(zone).transpose().map_err(|source| MapError::Zone { source })?,
            origin_ms: raw.time.origin.as_deref().map(origin).transpose()?,
            step_ms: raw.time.step_s.map(step_ms).transpose()?,
            source: raw.source,
            columns: raw.file.columns,
            absent: raw.file.absent,
            at: raw.time.at,
            values: raw.series,
        };
        map.check()?;
        Ok(map)
    }

    /// The name under which its files are one series.
    pub fn source(&self) -> &str {
        &self.source
    }

    fn check(&self) -> Result<(), MapError> {
        let v = &self.values;
        if self.source.trim().is_empty() {
            return Err(wrong("source", "name the system that the series comes from"));
        }
        let Instant::Column { format, .. } = &self.at else {
            return Err(wrong("time.at", "a row has one instant: give `column` and `format`"));
        };
        if self.origin_ms.is_none() && matches!(format, Format::Relative(_)) {
            return Err(wrong("time.origin", "relative times need the instant they count from (2023-01-01T00:00:00Z)"));
        }
        if v.team.is_none() && v.pool.is_none() {
            return Err(wrong("series", "give `team` or `pool`: a row must say whose figures they are"));
        }
        if [&v.quota, &v.held, &v.queued, &v.queued_jobs].into_iter().all(Option::is_none) {
            return Err(wrong("series", "give at least one of `quota`, `held`, `queued` and `queued_jobs`"));
        }
        Ok(())
    }

    /// Whether its instants are local times without an offset.
    pub(super) fn is_local(&self) -> bool {
        matches!(&self.at, Instant::Column { format: Format::Local(_), .. })
    }

    /// Every column the map names, with the key that names it.
    pub(super) fn named_columns(&self) -> Vec<(String, &str)> {
        let v = &self.values;
        let at = match &self.at {
            Instant::Column { column, .. } => Some(column.as_str()),
            Instant::From(_) => None,
        };
        [
            ("time.at", at),
            ("series.team", v.team.as_ref().and_then(Text::column)),
            ("series.pool", v.pool.as_ref().and_then(Text::column)),
            ("series.quota", v.quota.as_ref().and_then(|c| c.value.column())),
            ("series.held", v.held.as_ref().and_then(|c| c.value.column())),
            ("series.queued", v.queued.as_ref().and_then(|c| c.value.column())),
            ("series.queued_jobs", v.queued_jobs.as_ref().and_then(|c| c.value.column())),
        ]
        .into_iter()
        .filter_map(|(key, column)| Some((key.to_owned(), column?)))
        .collect()
    }
}

fn step_ms(step_s: i64) -> Result<i64, MapError> {
    if (1..=STEP_S_MAX).contains(&step_s) {
        Ok(step_s * 1_000)
    } else {
        Err(wrong("time.step_s", &format!("`{step_s}` is not between 1 and {STEP_S_MAX} seconds")))
    }
}
