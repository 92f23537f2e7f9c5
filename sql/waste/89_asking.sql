-- What was asked for and waited in the window: each request for GPUs from the time it could have started (else its submit) to its
-- start or the last look that shows it waiting, inside the window. A request that does not say how many GPUs it asks for counts what
-- its run was given; one that never ran then counts nothing. Its pool is that of the cards of its queue and model, else of all cards
-- of its cluster that it could use; `-` where these lie in several pools.
-- grain: request. units: ms, share units
-- inputs: request, run, place_of, pool_span
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: asking
WITH clipped AS (
    SELECT q.job_id, q.cluster, q.queue, q.req_model, q.account, q."user", q.labels,
        coalesce(q.req_gpu_units * q.tasks, r.gpu_units) AS units,
        CASE WHEN coalesce(q.eligible_ms, q.submit_ms) > CAST($from_ms AS BIGINT) THEN coalesce(q.eligible_ms, q.submit_ms)
            ELSE CAST($from_ms AS BIGINT) END AS from_ms,
        CASE WHEN q.waited_to_ms < CAST($to_ms AS BIGINT) THEN q.waited_to_ms ELSE CAST($to_ms AS BIGINT) END AS to_ms
    FROM request q
    LEFT JOIN run r ON r.cluster = q.cluster AND r.job_raw = q.job_raw AND r.start_ms = q.start_ms
    WHERE coalesce(q.eligible_ms, q.submit_ms) < CAST($to_ms AS BIGINT) AND q.waited_to_ms > CAST($from_ms AS BIGINT)
),
place AS (
    SELECT DISTINCT p.cluster, p.queue, p.model, s.pool, s.from_ms, s.to_ms
    FROM place_of p
    JOIN pool_span s ON s.pool_key = p.pool_key
    WHERE p.cluster IS NOT NULL
),
fit AS (
    SELECT c.job_id, p.pool, coalesce(p.queue = c.queue, false) AS own_queue
    FROM clipped c
    JOIN place p ON p.cluster = c.cluster AND p.from_ms <= c.from_ms AND p.to_ms > c.from_ms
        AND (p.queue IS NULL OR c.queue IS NULL OR p.queue = c.queue)
    WHERE c.req_model IS NULL OR p.model IS NULL
        OR regexp_like(lower(p.model), regexp_replace(lower(c.req_model), '([.+*?()\[{}$])', '[\1]', 'g'))
),
fit_pool AS (
    SELECT job_id, pool, max(CASE WHEN own_queue THEN 1 ELSE 0 END) AS own FROM fit GROUP BY job_id, pool
),
pool_of AS (
    SELECT job_id, count(*) AS pools, max(pool) AS pool, sum(own) AS own_pools, max(CASE WHEN own = 1 THEN pool END) AS own_pool
    FROM fit_pool
    GROUP BY job_id
)
SELECT c.job_id, c.from_ms, c.to_ms, c.units, c.cluster, c.account, c."user", c.labels,
    'scheduler' || chr(31) || c.cluster || chr(31) || coalesce(c.account, '') || chr(31) || coalesce(c."user", '') || chr(31)
        || coalesce(c.labels, '') AS owner_key,
    CASE WHEN o.own_pools = 1 THEN o.own_pool WHEN o.own_pools = 0 AND o.pools = 1 THEN o.pool ELSE '-' END AS pool
FROM clipped c
LEFT JOIN pool_of o ON o.job_id = c.job_id
WHERE c.units > 0 AND c.from_ms < c.to_ms
