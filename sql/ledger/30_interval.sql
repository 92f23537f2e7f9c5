-- The timeline of each device, cut at every edge of what is dated about it into maximal intervals of constant facts.
-- grain: device x interval. key: device_id, from_ms. units: epoch ms
-- inputs: device_span, holder, failure, node_span
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: interval_fact
WITH known AS (
    SELECT device_id, cluster, node,
        CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS from_ms,
        CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS to_ms
    FROM device_span
    WHERE from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
),
fact AS (
    -- kind: 1 down, 2 up, 3 failed; a node's state is the card's only while it is in that node
    SELECT f.device_id, 3 AS kind, f.from_ms, f.to_ms, CAST($lo_ms AS BIGINT) AS in_from_ms,
        CAST($hi_ms AS BIGINT) AS in_to_ms
    FROM failure f
    WHERE f.from_ms < CAST($hi_ms AS BIGINT) AND f.to_ms > CAST($lo_ms AS BIGINT)
    UNION ALL
    SELECT k.device_id, CASE WHEN n.down THEN 1 ELSE 2 END, n.from_ms, n.to_ms, k.from_ms, k.to_ms
    FROM node_span n
    JOIN known k ON k.cluster = n.cluster AND k.node = n.node AND n.from_ms < k.to_ms AND n.to_ms > k.from_ms
),
fact_in AS (
    SELECT device_id, kind,
        CASE WHEN from_ms > in_from_ms THEN from_ms ELSE in_from_ms END AS from_ms,
        CASE WHEN to_ms < in_to_ms THEN to_ms ELSE in_to_ms END AS to_ms
    FROM fact
),
edge AS (
    SELECT device_id, from_ms AS at_ms FROM known
    UNION SELECT device_id, to_ms FROM known
    UNION SELECT device_id, from_ms FROM holder
    UNION SELECT device_id, to_ms FROM holder
    UNION SELECT device_id, from_ms FROM fact_in
    UNION SELECT device_id, to_ms FROM fact_in
),
piece AS (
    SELECT device_id, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY device_id ORDER BY at_ms) AS to_ms
    FROM edge
)
SELECT p.device_id, k.cluster, k.node, p.from_ms, p.to_ms,
    coalesce(bool_or(f.kind = 3), false) AS failed,
    coalesce(bool_or(f.kind = 1), false) AS down,
    coalesce(bool_or(f.kind = 2), false) AS up
FROM piece p
JOIN known k ON k.device_id = p.device_id AND k.from_ms <= p.from_ms AND k.to_ms >= p.to_ms
LEFT JOIN fact_in f ON f.device_id = p.device_id AND f.from_ms <= p.from_ms AND f.to_ms >= p.to_ms
WHERE p.to_ms IS NOT NULL
GROUP BY p.device_id, k.cluster, k.node, p.from_ms, p.to_ms
