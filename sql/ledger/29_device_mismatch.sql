-- Where a scheduler's record of a run's devices on a node (GRES) and the cgroups of its processes disagree: devices on which
-- processes of the run, by their cgroup, ran while the record names others there. It is an alarm and corrects nothing.
-- The record's device beside each is one that no process of the run used that day, in order; NULL where none is left.
-- grain: UTC day x run x device by evidence. key: day, holder, device_id. units: epoch ms
-- inputs: process, dated, device_index, device_span
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: device_mismatch
WITH told AS (
    SELECT holder, device_id, gres_index, from_ms, to_ms FROM device_index
    UNION ALL
    SELECT holder, device_id, coalesce(gres_index, 0), from_ms, to_ms FROM dated
    WHERE device_id IS NOT NULL AND evidence_rank = 2
),
record AS (
    SELECT t.holder, t.device_id, d.cluster, d.node, min(t.gres_index) AS gres_index, min(t.from_ms) AS from_ms,
        max(t.to_ms) AS to_ms
    FROM told t
    JOIN device_span d ON d.device_id = t.device_id AND d.from_ms < t.to_ms AND d.to_ms > t.from_ms
    WHERE t.from_ms < CAST($hi_ms AS BIGINT) AND t.to_ms > CAST($lo_ms AS BIGINT)
    GROUP BY t.holder, t.device_id, d.cluster, d.node
),
run_on AS (
    SELECT holder, cluster, node, min(from_ms) AS from_ms, max(to_ms) AS to_ms FROM record GROUP BY holder, cluster, node
),
ran AS (
    SELECT p.holder, p.device_id, p.from_ms / 86400000 AS day, min(p.from_ms) AS first_tick_ms
    FROM process p
    WHERE p.evidence_rank = 1 AND p.holder > 0 AND p.from_ms >= CAST($lo_ms AS BIGINT) AND p.from_ms < CAST($hi_ms AS BIGINT)
    GROUP BY p.holder, p.device_id, p.from_ms / 86400000
),
seen AS (
    SELECT r.day, r.holder, r.device_id, o.cluster, o.node, min(r.first_tick_ms) AS first_tick_ms
    FROM ran r
    JOIN device_span d ON d.device_id = r.device_id AND d.from_ms <= r.first_tick_ms AND d.to_ms > r.first_tick_ms
    JOIN run_on o ON o.holder = r.holder AND o.cluster = d.cluster AND o.node = d.node AND o.to_ms > r.first_tick_ms
    GROUP BY r.day, r.holder, r.device_id, o.cluster, o.node
),
stray AS (
    SELECT s.*, row_number() OVER (PARTITION BY s.day, s.holder, s.cluster, s.node ORDER BY s.first_tick_ms, s.device_id) AS place
    FROM seen s
    LEFT JOIN record r ON r.holder = s.holder AND r.device_id = s.device_id
    WHERE r.holder IS NULL
),
unused AS (
    SELECT y.day, r.holder, r.cluster, r.node, r.device_id,
        row_number() OVER (PARTITION BY y.day, r.holder, r.cluster, r.node ORDER BY r.gres_index, r.device_id) AS place
    FROM (SELECT DISTINCT day, holder, cluster, node FROM stray) y
    JOIN record r ON r.holder = y.holder AND r.cluster = y.cluster AND r.node = y.node
    LEFT JOIN seen s ON s.day = y.day AND s.holder = r.holder AND s.device_id = r.device_id
    WHERE s.holder IS NULL
)
SELECT CAST(t.day AS INT) AS day, t.holder, t.cluster, t.node, u.device_id AS record_device_id, t.device_id, t.first_tick_ms
FROM stray t
LEFT JOIN unused u ON u.day = t.day AND u.holder = t.holder AND u.cluster = t.cluster AND u.node = t.node AND u.place = t.place
ORDER BY day, holder, device_id
