-- Capacity without a name (inventory that no device row stands for), cut into cells and at edges of node states:
-- unavailable where the node is down, unallocated where it is up or declared in service, else unobserved.
-- grain: place x cell. key: cluster, node, cell. units: ms
-- inputs: spare, node_span
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: spare_cell
WITH clipped AS (
    SELECT cluster, node, model, gpus, declared_up,
        CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS from_ms,
        CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS to_ms
    FROM spare
    WHERE from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
),
edge AS (
    SELECT cluster, node, model, from_ms, to_ms, from_ms AS at_ms FROM clipped
    UNION SELECT cluster, node, model, from_ms, to_ms, to_ms AS at_ms FROM clipped
    UNION SELECT c.cluster, c.node, c.model, c.from_ms, c.to_ms, n.from_ms FROM clipped c
    JOIN node_span n ON n.cluster = c.cluster AND n.node = c.node AND n.from_ms > c.from_ms AND n.from_ms < c.to_ms
    UNION SELECT c.cluster, c.node, c.model, c.from_ms, c.to_ms, n.to_ms FROM clipped c
    JOIN node_span n ON n.cluster = c.cluster AND n.node = c.node AND n.to_ms > c.from_ms AND n.to_ms < c.to_ms
),
piece AS (
    SELECT cluster, node, model, from_ms AS span_from_ms, at_ms AS from_ms,
        lead(at_ms) OVER (PARTITION BY cluster, node, model, from_ms ORDER BY at_ms) AS to_ms
    FROM edge
),
stated AS (
    SELECT p.cluster, p.node, p.from_ms, p.to_ms, c.gpus, c.model,
        coalesce(bool_or(n.down), false) AS down,
        c.declared_up OR coalesce(bool_or(NOT n.down), false) AS up
    FROM piece p
    JOIN clipped c ON c.cluster = p.cluster AND c.node = p.node AND c.model = p.model AND c.from_ms = p.span_from_ms
    LEFT JOIN node_span n ON n.cluster = p.cluster AND n.node = p.node AND n.from_ms <= p.from_ms AND n.to_ms >= p.to_ms
    WHERE p.to_ms IS NOT NULL
    GROUP BY p.cluster, p.node, p.from_ms, p.to_ms, c.gpus, c.model, c.declared_up
),
cut AS (
    SELECT *, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell FROM stated
),
inside AS (
    SELECT cluster, node, model, cell, gpus, down, up,
        CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END AS from_ms,
        CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END AS to_ms
    FROM cut
)
SELECT cluster, node, cell, min(model) AS model, min(from_ms) AS from_ms, max(to_ms) AS to_ms,
    CAST(sum(CASE WHEN down THEN 0 WHEN up THEN gpus * (to_ms - from_ms) ELSE 0 END) AS BIGINT) AS unallocated_ms,
    CAST(sum(CASE WHEN down THEN gpus * (to_ms - from_ms) ELSE 0 END) AS BIGINT) AS unavailable_ms,
    CAST(sum(CASE WHEN down OR up THEN 0 ELSE gpus * (to_ms - from_ms) END) AS BIGINT) AS unobserved_ms
FROM inside
GROUP BY cluster, node, cell
