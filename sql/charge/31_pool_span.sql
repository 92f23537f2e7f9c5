-- The pool of each place over time; `default` where no row names it. If several do (check L7 lists them), the first name.
-- grain: pool_key x interval. units: epoch ms. invariants: L7
-- inputs: place_of, pool
-- parameters: none
-- output: pool_span
WITH place AS (
    SELECT DISTINCT pool_key, cluster, node, model, queue FROM place_of
),
matched AS (
    SELECT k.pool_key, p.pool, p.from_ms, coalesce(p.to_ms, 9000000000000000) AS to_ms
    FROM place k
    JOIN pool p ON (p.cluster IS NULL OR p.cluster = k.cluster)
        AND (p.node_regex IS NULL OR regexp_like(k.node, p.node_regex))
        AND (p.queue IS NULL OR p.queue = k.queue)
        AND (p.model IS NULL OR p.model = k.model)
),
edge AS (
    SELECT pool_key, 0 AS at_ms FROM place
    UNION SELECT pool_key, 9000000000000000 FROM place
    UNION SELECT pool_key, from_ms FROM matched
    UNION SELECT pool_key, to_ms FROM matched
),
piece AS (
    SELECT pool_key, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY pool_key ORDER BY at_ms) AS to_ms FROM edge
)
SELECT p.pool_key, p.from_ms, p.to_ms, coalesce(min(m.pool), 'default') AS pool, count(DISTINCT m.pool) AS pools
FROM piece p
LEFT JOIN matched m ON m.pool_key = p.pool_key AND m.from_ms <= p.from_ms AND m.to_ms >= p.to_ms
WHERE p.to_ms IS NOT NULL
GROUP BY p.pool_key, p.from_ms, p.to_ms
