-- The device behind an index that Slurm gives: the one at that position (from 0) among the node's whole devices, in order of
-- minor number (`minor`) or of PCI address (`nvml`). Indices were given out when the run started and do not move while it
-- runs: the devices are those known at the start of the holding, else at the first instant in it at which any is known.
-- Nothing is guessed: not on a node with MIG instances, where a card lacks what the order goes by or two have the same,
-- where there are fewer cards than the index, and under no other rule. Such GPUs stay counted.
-- grain: holding. key: holding_id. units: epoch ms
-- inputs: dated, device_span, device
-- parameters: none
-- output: device_index
WITH wanted AS (
    SELECT * FROM dated WHERE device_id IS NULL AND gres_index IS NOT NULL AND node IS NOT NULL
),
place AS (
    SELECT DISTINCT cluster, node FROM wanted
),
there AS (
    SELECT s.cluster, s.node, s.device_id, s.minor, s.pci, s.from_ms, s.to_ms, 0 AS instance
    FROM device_span s
    JOIN place p ON p.cluster = s.cluster AND p.node = s.node
    UNION ALL
    SELECT i.cluster, i.node, i.device_id, NULL, NULL, i.first_seen_ms, coalesce(i.retired_ms, 9223372036854775807), 1
    FROM device i
    JOIN place p ON p.cluster = i.cluster AND p.node = i.node
    WHERE i.parent_id IS NOT NULL
),
edge AS (
    SELECT cluster, node, from_ms AS at_ms FROM there
    UNION SELECT cluster, node, to_ms FROM there
),
cut AS (
    SELECT cluster, node, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY cluster, node ORDER BY at_ms) AS to_ms
    FROM edge
),
piece AS (
    -- the devices of a node while they are the same ones
    SELECT c.cluster, c.node, c.from_ms, c.to_ms, max(t.instance) AS mig, count(*) AS cards, count(t.minor) AS minors,
        count(DISTINCT t.minor) AS minor_values, count(t.pci) AS pcis, count(DISTINCT upper(t.pci)) AS pci_values
    FROM cut c
    JOIN there t ON t.cluster = c.cluster AND t.node = c.node AND t.from_ms <= c.from_ms AND t.to_ms >= c.to_ms
    WHERE c.to_ms IS NOT NULL
    GROUP BY c.cluster, c.node, c.from_ms, c.to_ms
    HAVING min(t.instance) = 0
),
anchor AS (
    SELECT w.holding_id, min(p.from_ms) AS piece_ms
    FROM wanted w
    JOIN piece p ON p.cluster = w.cluster AND p.node = w.node AND p.from_ms < w.to_ms AND p.to_ms > w.from_ms
    GROUP BY w.holding_id
),
ordered AS (
    SELECT p.cluster, p.node, p.from_ms, p.cards, p.minors, p.minor_values, p.pcis, p.pci_values, t.device_id,
        row_number() OVER (PARTITION BY p.cluster, p.node, p.from_ms ORDER BY t.minor, t.device_id) - 1 AS by_minor,
        row_number() OVER (PARTITION BY p.cluster, p.node, p.from_ms ORDER BY upper(t.pci), t.device_id) - 1 AS by_pci
    FROM piece p
    JOIN there t ON t.cluster = p.cluster AND t.node = p.node AND t.from_ms <= p.from_ms AND t.to_ms >= p.to_ms
    WHERE p.mig = 0
)
SELECT w.holding_id, w.holder, w.cluster, w.node, w.gres_index, o.device_id, w.model, w.share_units, w.start_ms, w.gpu_count,
    w.from_ms, w.to_ms
FROM wanted w
JOIN anchor a ON a.holding_id = w.holding_id
JOIN ordered o ON o.cluster = w.cluster AND o.node = w.node AND o.from_ms = a.piece_ms
    AND ((w.index_rule = 'minor' AND o.by_minor = w.gres_index AND o.minors = o.cards AND o.minor_values = o.cards)
        OR (w.index_rule = 'nvml' AND o.by_pci = w.gres_index AND o.pcis = o.cards AND o.pci_values = o.cards))
