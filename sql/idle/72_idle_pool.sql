-- How many GPUs each pool has at that instant: cards that are known then, or to the end of what is known of their cluster, and
-- capacity without a name. The pool is found as for charges (`charge/31_pool_span`).
-- grain: pool. key: pool. units: GPUs
-- inputs: device_span, spare, as_of, pool
-- parameters: at_ms BIGINT
-- output: idle_pool
WITH known AS (
    SELECT cluster, node, model, queue, 1 AS gpus, from_ms, to_ms FROM device_span
    UNION ALL
    SELECT cluster, node, model, queue, gpus, from_ms, to_ms FROM spare
),
there AS (
    SELECT k.cluster, k.node, k.model, k.queue, CAST(sum(k.gpus) AS BIGINT) AS gpus
    FROM known k
    JOIN as_of a ON a.cluster = k.cluster
    WHERE k.from_ms <= CAST($at_ms AS BIGINT) AND (k.to_ms > CAST($at_ms AS BIGINT) OR k.to_ms >= a.as_of_ms)
    GROUP BY k.cluster, k.node, k.model, k.queue
),
placed AS (
    SELECT t.cluster, t.node, t.model, t.queue, t.gpus, min(p.pool) AS pool
    FROM there t
    LEFT JOIN pool p ON (p.cluster IS NULL OR p.cluster = t.cluster)
        AND (p.node_regex IS NULL OR regexp_like(t.node, p.node_regex))
        AND (p.queue IS NULL OR p.queue = t.queue)
        AND (p.model IS NULL OR p.model = t.model)
        AND p.from_ms <= CAST($at_ms AS BIGINT) AND (p.to_ms IS NULL OR p.to_ms > CAST($at_ms AS BIGINT))
    GROUP BY t.cluster, t.node, t.model, t.queue, t.gpus
)
SELECT coalesce(pool, 'default') AS pool, CAST(sum(gpus) AS BIGINT) AS gpus FROM placed GROUP BY coalesce(pool, 'default')
