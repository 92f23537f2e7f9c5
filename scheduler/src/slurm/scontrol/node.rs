//! `scontrol show node`: state, GRES and size of the nodes.

use gpuledger_schema::state::NodeState;

use super::{Record, records};
use crate::slurm::gres::{self, Form, Gres};
use crate::slurm::number;
use crate::slurm::problem::{Problem, Read};
use crate::slurm::tres::{Tres, tres};

/// A node as the controller shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Line it starts on, from 1.
    pub line: i64,
    /// Name.
    pub name: String,
    /// Whether work can be put on it, in our words.
    pub state: NodeState,
    /// The state as written, e.g. `MIXED+DRAIN`.
    pub state_text: String,
    /// Why, where somebody said it.
    pub reason: Option<String>,
    /// When that was said, epoch ms.
    pub reason_ms: Option<i64>,
    /// Its resources as configured.
    pub gres: Vec<Gres>,
    /// What it has in all, as accounted.
    pub total: Option<Tres>,
    /// Partitions it belongs to.
    pub partitions: Vec<String>,
    /// Features that are active.
    pub features: Vec<String>,
    /// CPUs.
    pub cpus: Option<i64>,
    /// Host memory.
    pub mem_bytes: Option<i64>,
}

/// Reads the records of a text. Instants must be epoch seconds (`SLURM_TIME_FORMAT=%s`); of another form they are absent.
pub fn read(text: &str) -> Read<Node> {
    let (records, problems) = records(text, "NodeName");
    let mut out = Read { facts: Vec::new(), problems };
    for record in records {
        match node(&record) {
            Ok(node) => out.facts.push(node),
            Err(problem) => out.problems.push(problem),
        }
    }
    out
}

fn node(record: &Record<'_>) -> Result<Node, Problem> {
    let needed = |key: &str| record.get(key).ok_or_else(|| record.problem(key, "the record has no such field"));
    let state_text = needed("State")?.to_owned();
    let state = state(&state_text).map_err(|word| record.problem("State", format!("unknown node state `{word}`")))?;
    let gres =
        gres::gres(record.get("Gres").unwrap_or_default(), Form::Granted).map_err(|e| record.problem("Gres", e))?;
    let total = record.get("CfgTRES").map(tres).transpose().map_err(|e| record.problem("CfgTRES", e))?;
    let (reason, reason_ms) = reason(record.get("Reason"));
    let list = |key: &str| {
        let mut list: Vec<String> = record.get(key).unwrap_or_default().split(',').map(str::to_owned).collect();
        list.retain(|w| !w.is_empty());
        list.sort();
        list
    };
    let memory = record.get("RealMemory").and_then(number::count);
    Ok(Node {
        line: record.line,
        name: needed("NodeName")?.to_owned(),
        state,
        state_text,
        reason,
        reason_ms,
        gres,
        total,
        partitions: list("Partitions"),
        features: list("ActiveFeatures"),
        cpus: record.get("CPUTot").and_then(number::count),
        mem_bytes: memory.and_then(|mib| mib.checked_mul(1 << 20)),
    })
}

/// `dead fan [root@1795998572]`: the reason, and when it was given.
fn reason(text: Option<&str>) -> (Option<String>, Option<i64>) {
    let Some(text) = text else { return (None, None) };
    let Some((reason, stamp)) = text.rsplit_once('[') else { return (Some(text.trim().to_owned()), None) };
    let at_ms = stamp.strip_suffix(']').and_then(|s| number::count(s.rsplit_once('@')?.1)?.checked_mul(1_000));
    match at_ms {
        Some(at_ms) => (Some(reason.trim().to_owned()), Some(at_ms)),
        None => (Some(text.trim().to_owned()), None),
    }
}

/// Reads a state and its flags: `MIXED+DRAIN`, `DOWN*`, `idle+MAINTENANCE+RESERVED`. The word that takes most away counts. A
/// word that is not known is given back: it might mean that no work can be put there.
pub fn state(text: &str) -> Result<NodeState, String> {
    let mut found = NodeState::Up;
    for word in text.split('+') {
        // a mark at the end says that it does not answer, is powered down, or is planned for
        let bare = word.trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-']);
        let does_not_answer = word.ends_with('*');
        let is_off = word.ends_with(['~', '%', '!']);
        let state = match bare.to_ascii_uppercase().as_str() {
            "IDLE" | "MIXED" | "MIX" | "ALLOCATED" | "ALLOC" | "COMPLETING" | "COMP" | "PLANNED" | "PLND"
            | "RESERVED" | "RESV" | "CLOUD" | "DYNAMIC_NORM" | "DYNAMIC_FUTURE" | "NO_RESPOND_TEST"
            | "REBOOT_REQUESTED" | "PERFCTRS" | "NPC" | "EXTERNAL" | "BLOCKED" | "RESUME" | "UNDRAIN" => NodeState::Up,
            "DRAIN" | "DRAINING" | "DRNG" | "DRAINED" | "DRAINED_ANY" | "FAIL" | "FAILING" | "FAILG" => {
                NodeState::Drained
            }
            "MAINT" | "MAINTENANCE" => NodeState::Maintenance,
            "DOWN"
            | "ERROR"
            | "UNKNOWN"
            | "UNK"
            | "FUTURE"
            | "FUTR"
            | "NOT_RESPONDING"
            | "NO_RESPOND"
            | "INVAL"
            | "INVALID"
            | "INVALID_REG"
            | "POWERED_DOWN"
            | "POWERING_DOWN"
            | "POWER_DOWN"
            | "POWER_DRAIN"
            | "POWERING_UP"
            | "POWER_UP"
            | "POWER_SAVING"
            | "REBOOT"
            | "REBOOT_ISSUED"
            | "REBOOT_REQUESTED_ASAP" => NodeState::Down,
            _ => return Err(bare.to_owned()),
        };
        let state = if does_not_answer || is_off { NodeState::Down } else { state };
        if rank(state) > rank(found) {
            found = state;
        }
    }
    Ok(found)
}

fn rank(state: NodeState) -> u8 {
    match state {
        NodeState::Up => 0,
        NodeState::Drained => 1,
        NodeState::Maintenance => 2,
        NodeState::Down => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "NodeName=gpu1 Arch=x86_64 CoresPerSocket=1 \n   CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=8.72\n   AvailableFeatures=nv,b\n   ActiveFeatures=nv,b\n   Gres=gpu:h100:4,shard:16\n   NodeAddr=127.0.0.1 Version=22.05.8\n   OS=Linux 6.18 #1 SMP @0 \n   RealMemory=2000 AllocMem=0 FreeMem=14998\n   State=MIXED+DRAIN+PLANNED ThreadsPerCore=1\n   Partitions=low,gpu \n   CfgTRES=cpu=16,mem=2000M,billing=16,gres/gpu=4,gres/gpu:h100=4\n   AllocTRES=\n   Reason=dead fan [2] [root@1795998572]\n\n";

    #[test]
    fn a_node_that_is_drained() {
        let read = read(&format!("{NODE}{}", NODE.replace("gpu1", "gpu2").replace("MIXED+DRAIN+PLANNED", "IDLE")));
        assert_eq!((read.facts.len(), read.problems.len()), (2, 0));
        let node = &read.facts[0];
        assert_eq!((node.name.as_str(), node.state), ("gpu1", NodeState::Drained));
        assert_eq!((node.reason.as_deref(), node.reason_ms), (Some("dead fan [2]"), Some(1_795_998_572_000)));
        assert_eq!(gres::gpus(&node.gres).unwrap().model(), Some("h100"));
        assert_eq!(node.partitions, ["gpu", "low"]);
        assert_eq!((node.cpus, node.mem_bytes), (Some(16), Some(2_000 << 20)));
        assert_eq!(read.facts[1].state, NodeState::Up);
    }

    #[test]
    fn states_and_their_flags() {
        for (text, expected) in [
            ("IDLE", NodeState::Up),
            ("ALLOCATED+COMPLETING", NodeState::Up),
            ("IDLE+RESERVED+PLANNED", NodeState::Up),
            ("IDLE+DRAIN", NodeState::Drained),
            ("DOWN+DRAIN", NodeState::Down),
            ("IDLE*", NodeState::Down),
            ("IDLE+NOT_RESPONDING", NodeState::Down),
            ("IDLE+CLOUD+POWERED_DOWN", NodeState::Down),
            ("IDLE+MAINTENANCE+RESERVED+PLANNED", NodeState::Maintenance),
            ("IDLE+DRAIN+MAINTENANCE", NodeState::Maintenance),
        ] {
            assert_eq!(state(text), Ok(expected), "{text}");
        }
        assert_eq!(state("IDLE+ASLEEP"), Err("ASLEEP".to_owned()));
    }

    #[test]
    fn a_state_or_resource_that_cannot_be_read_refuses_the_node_only() {
        for (from, to, field) in
            [("MIXED+DRAIN+PLANNED", "DREAMING", "State"), ("gpu:h100:4,shard:16", "gpu:h100:", "Gres")]
        {
            let read = read(&format!("{}{}", NODE.replace(from, to), NODE.replace("gpu1", "gpu2")));
            assert_eq!((read.facts.len(), read.problems[0].field.as_deref()), (1, Some(field)));
        }
    }
}
