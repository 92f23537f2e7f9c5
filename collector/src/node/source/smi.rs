//! What `nvidia-smi` prints, read: a second, independent voice beside NVML for `doctor` and `calibrate`.
//!
//! Parsers take text. `N/A`, `[N/A]`, `[Not Supported]`, `-` and the like are absent with a reason, never a number.

pub mod outline;
pub mod table;

use crate::import::decimal::{Decimal, Rounding};
use crate::node::seen::{Absent, Measure};

pub use outline::Outline;
pub use table::Table;

/// A card as `nvidia-smi -L` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCard {
    /// NVML index.
    pub index: u32,
    /// Model name.
    pub model: String,
    /// Driver UUID.
    pub uuid: String,
    /// Its MIG instances, in the order listed.
    pub instances: Vec<ListedInstance>,
}

/// A MIG instance as `nvidia-smi -L` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedInstance {
    /// Number inside the card.
    pub index: u32,
    /// Profile, e.g. `3g.40gb`.
    pub profile: String,
    /// Driver UUID.
    pub uuid: String,
}

/// A line that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct SmiError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl SmiError {
    fn new(at: usize, why: impl Into<String>) -> Self {
        Self { line: at + 1, why: why.into() }
    }
}

/// Reads `nvidia-smi -L`.
pub fn list(text: &str) -> Result<Vec<ListedCard>, SmiError> {
    let mut cards: Vec<ListedCard> = Vec::new();
    for (at, line) in said(text) {
        let (what, uuid) = line
            .trim()
            .strip_suffix(')')
            .and_then(|l| l.rsplit_once("(UUID: "))
            .ok_or_else(|| SmiError::new(at, "no UUID at its end"))?;
        let (what, uuid) = (what.trim(), uuid.to_owned());
        if let Some((index, model)) = what.strip_prefix("GPU ").and_then(|w| w.split_once(": ")) {
            let index = index.parse().map_err(|_| SmiError::new(at, "no GPU number"))?;
            cards.push(ListedCard { index, model: model.to_owned(), uuid, instances: Vec::new() });
        } else if let Some((profile, index)) = what.strip_prefix("MIG ").and_then(|w| w.split_once("Device")) {
            let index = index.trim().trim_end_matches(':').parse();
            let index = index.map_err(|_| SmiError::new(at, "no instance number"))?;
            let card = cards.last_mut().ok_or_else(|| SmiError::new(at, "an instance before its card"))?;
            card.instances.push(ListedInstance { index, profile: profile.trim().to_owned(), uuid });
        } else {
            return Err(SmiError::new(at, "neither GPU nor MIG"));
        }
    }
    Ok(cards)
}

/// A line of `nvidia-smi pmon`: a process on a card, over the last second or so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pmon {
    /// NVML index of the card.
    pub gpu: u32,
    /// Process id; none where the card has no process.
    pub pid: Option<u32>,
    /// `C`, `G`, `C+G`; none where the card has no process.
    pub kind: Option<String>,
    /// Part of the time in which the process had work on the card's compute engine.
    pub sm_ppm: Measure<i64>,
    /// Part of the time in which its memory traffic ran.
    pub mem_ppm: Measure<i64>,
    /// Command name, cut by the tool.
    pub command: Option<String>,
}

/// Reads `nvidia-smi pmon`, whose columns depend on the version: they are found by their heading.
pub fn pmon(text: &str) -> Result<Vec<Pmon>, SmiError> {
    let mut heads: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for (at, line) in said(text) {
        if let Some(head) = line.trim_start().strip_prefix('#') {
            // The second line of the heading gives units; its first word tells them apart.
            if head.split_ascii_whitespace().next() == Some("gpu") {
                heads = head.split_ascii_whitespace().collect();
            }
            continue;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // The command is last and may hold blanks, so it is taken from where it begins to the end.
        let of = |name: &str| heads.iter().position(|h| *h == name).and_then(|i| words.get(i).copied());
        let gpu = of("gpu").and_then(|w| w.parse().ok()).ok_or_else(|| SmiError::new(at, "no GPU number"))?;
        let command = heads.iter().position(|h| *h == "command").and_then(|i| words.get(i..)).map(|w| w.join(" "));
        let part = |name: &str| of(name).map_or(Err(Absent::NotSupported), percent_ppm);
        let there = |word: &&str| *word != "-";
        rows.push(Pmon {
            gpu,
            pid: of("pid").filter(there).map(str::parse).transpose().map_err(|_| SmiError::new(at, "no process id"))?,
            kind: of("type").filter(there).map(str::to_owned),
            sm_ppm: part("sm"),
            mem_ppm: part("mem"),
            command: command.filter(|c| c != "-" && !c.is_empty()),
        });
    }
    Ok(rows)
}

/// A process of `--query-compute-apps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeApp {
    /// Driver UUID of the card.
    pub uuid: String,
    /// Process id.
    pub pid: u32,
    /// Program, as the driver gives it.
    pub command: Option<String>,
    /// Memory it uses now.
    pub mem_used_bytes: Measure<i64>,
}

/// Reads `--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory`. No row is an idle card.
pub fn compute_apps(text: &str) -> Result<Vec<ComputeApp>, SmiError> {
    let table = Table::parse(text)?;
    let row = |at: usize| {
        let command = table.cell(at, "process_name").filter(|name| absent(name).is_none());
        Ok(ComputeApp {
            uuid: cell(&table, at, "gpu_uuid")?.to_owned(),
            pid: pid(&table, at)?,
            command: command.map(str::to_owned),
            mem_used_bytes: mib_bytes(cell(&table, at, "used_gpu_memory")?),
        })
    };
    (0..table.len()).map(row).collect()
}

/// A process of `--query-accounted-apps`: what the driver kept of it, also after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountedApp {
    /// Driver UUID of the card.
    pub uuid: String,
    /// Process id.
    pub pid: u32,
    /// Mean utilization over its life, in whole percents cut down: below 1 % it reads 0.
    pub gpu_util_ppm: Measure<i64>,
    /// Most memory it used.
    pub mem_peak_bytes: Measure<i64>,
    /// Its life on the card; 0 while it still runs.
    pub time_ms: Measure<i64>,
}

/// Reads `--query-accounted-apps=gpu_uuid,pid,gpu_util,max_memory_usage,time`.
pub fn accounted_apps(text: &str) -> Result<Vec<AccountedApp>, SmiError> {
    let table = Table::parse(text)?;
    let row = |at: usize| {
        Ok(AccountedApp {
            uuid: cell(&table, at, "gpu_uuid")?.to_owned(),
            pid: pid(&table, at)?,
            gpu_util_ppm: percent_ppm(cell(&table, at, "gpu_utilization")?),
            mem_peak_bytes: mib_bytes(cell(&table, at, "max_memory_usage")?),
            time_ms: ms(cell(&table, at, "time")?),
        })
    };
    (0..table.len()).map(row).collect()
}

/// A cell that the query asked for. Rows are numbered below the heading.
fn cell<'a>(table: &'a Table, row: usize, column: &str) -> Result<&'a str, SmiError> {
    table.cell(row, column).ok_or_else(|| SmiError::new(row + 1, format!("no column `{column}`")))
}

fn pid(table: &Table, row: usize) -> Result<u32, SmiError> {
    let text = cell(table, row, "pid")?;
    text.parse().map_err(|_| SmiError::new(row + 1, format!("`{text}` is no process id")))
}

/// The lines that say something, numbered from 0: not blank, and not the command that a recording begins with.
fn said(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let recorded_command = |at: usize, line: &str| at == 0 && line.starts_with("$ ");
    text.lines().enumerate().filter(move |(at, line)| !line.trim().is_empty() && !recorded_command(*at, line))
}

/// Why a cell holds no value; none where it may hold one.
pub fn absent(cell: &str) -> Option<Absent> {
    let bare = cell.trim().trim_start_matches('[').trim_end_matches(']').trim().to_ascii_lowercase();
    match bare.as_str() {
        "n/a" | "not supported" | "-" | "" | "none" => Some(Absent::NotSupported),
        "insufficient permissions" | "no permission" => Some(Absent::NotPermitted),
        "gpu is lost" => Some(Absent::Lost),
        "not found" => Some(Absent::Gone),
        said if said.starts_with("requested functionality") => Some(Absent::NotSupported),
        said if said.starts_with("unknown error") => Some(Absent::Failed("unknown error".to_owned())),
        _ => None,
    }
}

/// A whole number without unit.
pub fn count(cell: &str) -> Measure<i64> {
    number(cell, "", 1, i64::MAX)
}

/// A percentage, `99 %` or `99`, in parts per million. Above 100 it is no percentage.
pub fn percent_ppm(cell: &str) -> Measure<i64> {
    number(cell, "%", 10_000, 1_000_000)
}

/// Memory, `2566 MiB`, in bytes.
pub fn mib_bytes(cell: &str) -> Measure<i64> {
    number(cell, "MiB", 1 << 20, 1 << 44)
}

/// Power, `433.78 W`, in mW.
pub fn watts_mw(cell: &str) -> Measure<i64> {
    number(cell, "W", 1_000, 10_000_000)
}

/// Time, `1200 ms`, in ms.
pub fn ms(cell: &str) -> Measure<i64> {
    number(cell, "ms", 1, i64::MAX)
}

/// A number of a unit, times `factor`, at most `max`. The unit may be left out, as in `--format=csv,nounits`.
fn number(cell: &str, unit: &str, factor: i64, max: i64) -> Measure<i64> {
    if let Some(why) = absent(cell) {
        return Err(why);
    }
    let cell = cell.trim();
    let digits = cell.strip_suffix(unit).unwrap_or(cell).trim_end();
    let value = Decimal::parse(digits).and_then(|d| d.scaled(factor, 1, Rounding::Nearest));
    value.filter(|v| (0..=max).contains(v)).ok_or(Absent::Rejected)
}

#[cfg(test)]
mod tests;
