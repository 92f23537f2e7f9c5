//! Nodes as rows: in which state each is, and what it offers.

use gpuledger_scheduler::slurm::gpu::mig_share;
use gpuledger_scheduler::slurm::scontrol::node::Node;
use gpuledger_schema::state::NodeState;
use gpuledger_schema::table::{NodeOfferRow, NodeStateRow};
use gpuledger_schema::unit::share_units;

/// The state of a node now. It began when its reason was given, where the state has one.
pub(super) fn state(cluster: &str, node: &Node, as_of_ms: i64) -> NodeStateRow {
    let is_up = node.state == NodeState::Up;
    let why = node.reason.clone().unwrap_or_else(|| node.state_text.clone());
    NodeStateRow {
        cluster: cluster.to_owned(),
        node: node.name.clone(),
        from_ms: node.reason_ms.filter(|_| !is_up).unwrap_or(as_of_ms),
        to_ms: None,
        state: node.state.as_str().to_owned(),
        reason: (!is_up).then_some(why),
        source: String::new(),
        as_of_ms,
    }
}

/// What a node has of GPUs and shards, a row for each GRES. None of it can be given out unless the node is up.
pub(super) fn offers(cluster: &str, node: &Node, as_of_ms: i64) -> Vec<NodeOfferRow> {
    let is_up = node.state == NodeState::Up;
    let gpus: i64 = node.gres.iter().filter(|g| g.name == "gpu").filter_map(|g| g.count).sum();
    let mut out: Vec<NodeOfferRow> = Vec::new();
    for gres in node.gres.iter().filter(|g| matches!(g.name.as_str(), "gpu" | "shard")) {
        let Some(count) = gres.count.filter(|n| *n > 0) else { continue };
        let share = match gres.name.as_str() {
            // shards are parts of the node's cards, the same number on each unless their configuration says otherwise
            "shard" => (gpus, count),
            _ => gres.kind.as_deref().and_then(|kind| mig_share(kind).ok()?).unwrap_or((1, 1)),
        };
        let Some((unit_units, _)) = share_units(share.0, share.1) else { continue };
        let resource = match &gres.kind {
            Some(kind) => format!("{}:{kind}", gres.name),
            None => gres.name.clone(),
        };
        // one GRES may stand in several parts, by socket
        if let Some(row) = out.iter_mut().find(|row| row.resource == resource) {
            row.count += count;
            row.allocatable = row.allocatable.map(|n| if is_up { n + count } else { 0 });
            continue;
        }
        out.push(NodeOfferRow {
            cluster: cluster.to_owned(),
            node: node.name.clone(),
            resource,
            count,
            allocatable: Some(if is_up { count } else { 0 }),
            unit_units,
            model: gres.kind.clone(),
            queues: lines(&node.partitions),
            features: lines(&node.features),
            cpus: node.cpus,
            mem_bytes: node.mem_bytes,
            source: String::new(),
            as_of_ms,
        });
    }
    out
}

fn lines(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| list.join("\n"))
}

#[cfg(test)]
mod tests {
    use gpuledger_scheduler::slurm::scontrol::node::read;
    use gpuledger_schema::unit::CARD_UNITS;

    use super::*;

    fn node(gres: &str, state: &str) -> Node {
        let text = format!(
            "NodeName=n1 CPUTot=16\n   ActiveFeatures=b,a\n   Gres={gres}\n   RealMemory=2000\n   State={state} X=1\n   Partitions=gpu \n   Reason=fan [root@1795998572]\n"
        );
        read(&text).facts.remove(0)
    }

    #[test]
    fn a_node_offers_what_it_has_and_nothing_of_it_while_it_is_drained() {
        let up = offers("c", &node("gpu:h100:4(S:0),gpu:h100:4(S:1),shard:32", "IDLE"), 7);
        let shown: Vec<_> = up.iter().map(|o| (o.resource.as_str(), o.count, o.allocatable, o.unit_units)).collect();
        assert_eq!(shown, [("gpu:h100", 8, Some(8), CARD_UNITS), ("shard", 32, Some(32), CARD_UNITS / 4)]);
        assert_eq!((up[0].queues.as_deref(), up[0].features.as_deref()), (Some("gpu"), Some("a\nb")));
        let drained = offers("c", &node("gpu:1g.10gb:7", "MIXED+DRAIN"), 7);
        assert_eq!((drained[0].count, drained[0].allocatable, drained[0].unit_units), (7, Some(0), CARD_UNITS / 7));
        assert_eq!(offers("c", &node("(null)", "IDLE"), 7), []);
    }

    #[test]
    fn a_state_begins_when_its_reason_was_given() {
        let drained = state("c", &node("gpu:1", "IDLE+DRAIN"), 9);
        assert_eq!((drained.state.as_str(), drained.from_ms), ("drained", 1_795_998_572_000));
        assert_eq!(drained.reason.as_deref(), Some("fan"));
        let up = state("c", &node("gpu:1", "IDLE"), 9);
        assert_eq!((up.state.as_str(), up.from_ms, up.reason), ("up", 9, None));
    }
}
