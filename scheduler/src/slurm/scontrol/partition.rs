//! `scontrol show partition -o`: nodes, totals and billing weights of partitions.

use super::{Record, records};
use crate::slurm::duration::{Span, span};
use crate::slurm::hostlist::hosts;
use crate::slurm::number;
use crate::slurm::problem::{Problem, Read};
use crate::slurm::tres::{Tres, tres};

/// How much one unit of a resource counts in Slurm's own billing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// The resource, e.g. `gres/gpu`.
    pub resource: String,
    /// The weight in millionths.
    pub micros: i64,
    /// The unit it is per, e.g. `G`; absent for counts.
    pub per: Option<char>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Line it starts on, from 1.
    pub line: i64,
    /// Name.
    pub name: String,
    /// State, e.g. `UP`.
    pub state: Option<String>,
    /// Nodes; absent where none are listed.
    pub nodes: Vec<String>,
    /// Number of nodes.
    pub node_count: Option<i64>,
    /// All it has; absent where the record does not say.
    pub total: Option<Tres>,
    /// Billing weights.
    pub weights: Vec<Weight>,
    /// Longest time limit.
    pub max_time: Span,
    /// What happens to preempted jobs.
    pub preempt_mode: Option<String>,
    /// Priority tier: jobs of a higher one go first.
    pub priority_tier: Option<i64>,
    /// Default quality of service.
    pub qos: Option<String>,
}

/// Reads the records of a text.
pub fn read(text: &str) -> Read<Partition> {
    let (records, problems) = records(text, "PartitionName");
    let mut out = Read { facts: Vec::new(), problems };
    for record in records {
        match partition(&record) {
            Ok(partition) => out.facts.push(partition),
            Err(problem) => out.problems.push(problem),
        }
    }
    out
}

fn partition(record: &Record<'_>) -> Result<Partition, Problem> {
    let text = |key: &str| record.get(key).map(str::to_owned);
    let count = |key: &str| match record.get(key).map(|v| (v, number::count(v))) {
        Some((v, None)) => Err(record.problem(key, format!("`{v}` is no number"))),
        read => Ok(read.and_then(|(_, n)| n)),
    };
    // The record has its list of nodes in `Nodes`; only records of jobs repeat that key.
    let nodes = record.get("Nodes").map(hosts).transpose().map_err(|e| record.problem("Nodes", e))?;
    let total = record.get("TRES").map(tres).transpose().map_err(|e| record.problem("TRES", e))?;
    let weights = record.get("TRESBillingWeights").unwrap_or_default();
    Ok(Partition {
        line: record.line,
        name: text("PartitionName").ok_or_else(|| record.problem("PartitionName", "the partition has no name"))?,
        state: text("State"),
        nodes: nodes.unwrap_or_default(),
        node_count: count("TotalNodes")?,
        total,
        weights: read_weights(weights).map_err(|part| {
            record.problem("TRESBillingWeights", format!("`{part}` is no weight of the form name=number"))
        })?,
        max_time: span(record.get("MaxTime").unwrap_or_default()).map_err(|e| record.problem("MaxTime", e))?,
        preempt_mode: text("PreemptMode"),
        priority_tier: count("PriorityTier")?,
        qos: text("QoS"),
    })
}

/// The weights, or the part that is none.
fn read_weights(text: &str) -> Result<Vec<Weight>, String> {
    let weight = |part: &str| {
        let (resource, value) = part.split_once('=').filter(|(r, _)| !r.is_empty())?;
        let per = value.chars().last().filter(char::is_ascii_alphabetic);
        let micros = number::scaled(value.trim_end_matches(|c: char| c.is_ascii_alphabetic()), 1_000_000)?;
        Some(Weight { resource: resource.to_owned(), micros, per })
    };
    text.split(',')
        .filter(|p| !text.is_empty() || !p.is_empty())
        .map(|p| weight(p).ok_or_else(|| p.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_exact_and_bad_ones_are_named() {
        let weights = read_weights("cpu=1,mem=0.125G,gres/gpu=16").unwrap();
        let shown: Vec<_> = weights.iter().map(|w| (w.resource.as_str(), w.micros, w.per)).collect();
        assert_eq!(shown, [("cpu", 1_000_000, None), ("mem", 125_000, Some('G')), ("gres/gpu", 16_000_000, None)]);
        assert_eq!(read_weights(""), Ok(vec![]));
        assert_eq!(read_weights("cpu=1,gres/gp"), Err("gres/gp".to_owned()));
        let read = read("PartitionName=p Nodes=n[1-2] TRES=cpu=8,node=2,gres/gpu=8 TotalNodes=x\nPartitionName=q\n");
        assert_eq!((read.facts.len(), read.problems[0].field.as_deref()), (1, Some("TotalNodes")));
    }
}
