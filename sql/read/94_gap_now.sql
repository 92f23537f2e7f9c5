-- Nodes that send minutes and of whose cards a part of a window was not measured or not seen: at least `least_ms` of GPU time. The
-- reason is what a look at the node said that failed in that time.
-- grain: cluster x node. units: epoch ms, ms
-- inputs: usage, unit, device_cell, reading
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT, least_ms BIGINT
-- output: gap_now
WITH sending AS (
    SELECT DISTINCT u.cluster, u.node
    FROM device_cell c
    JOIN unit u ON u.unit_id = c.device_id
    WHERE c.day >= CAST($from_day AS INT) AND c.day <= CAST($to_day AS INT)
),
hole AS (
    SELECT u.cluster, u.node, min(g.from_ms) AS from_ms, max(g.to_ms) AS to_ms,
        CAST(sum(g.held_unmeasured_ms + g.unobserved_ms) AS BIGINT) AS ms
    FROM usage g
    JOIN unit u ON u.unit_id = g.unit_id
    WHERE g.day >= CAST($from_day AS INT) AND g.day <= CAST($to_day AS INT) AND g.from_ms >= CAST($from_ms AS BIGINT)
        AND g.to_ms <= CAST($to_ms AS BIGINT) AND g.held_unmeasured_ms + g.unobserved_ms > 0 AND u.kind = 'device'
    GROUP BY u.cluster, u.node
    HAVING sum(g.held_unmeasured_ms + g.unobserved_ms) >= CAST($least_ms AS BIGINT)
)
SELECT h.cluster, h.node, h.from_ms, h.to_ms, h.ms, min(f.error) AS reason
FROM hole h
JOIN sending s ON s.cluster = h.cluster AND s.node = h.node
LEFT JOIN reading f ON f.cluster = h.cluster AND f.node = h.node AND f.kind = 'node' AND NOT f.ok AND f.from_ms < h.to_ms
    AND f.to_ms > h.from_ms
GROUP BY h.cluster, h.node, h.from_ms, h.to_ms, h.ms
ORDER BY h.cluster, h.node
