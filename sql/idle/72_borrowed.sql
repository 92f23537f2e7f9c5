-- Which holders stand above their team's quota of a pool at that instant: what a team holds beyond it lies on its runs that started
-- last (of equal starts the greater id). A quota that is a part of a pool is that part of the GPUs that the pool has then.
-- grain: holder. key: holder. units: share units
-- inputs: standing, run_place, quota, idle_pool
-- parameters: at_ms BIGINT
-- output: idle_borrowed
WITH allowed AS (
    SELECT q.team, q.pool,
        CAST(sum(CASE WHEN q.gpus IS NOT NULL THEN q.gpus * 72072000 ELSE p.gpus * q.pool_share_ppm * 72072000 / 1000000 END)
            AS BIGINT) AS units
    FROM quota q
    LEFT JOIN idle_pool p ON p.pool = q.pool
    WHERE q.from_ms <= CAST($at_ms AS BIGINT) AND (q.to_ms IS NULL OR q.to_ms > CAST($at_ms AS BIGINT))
        AND (q.gpus IS NOT NULL OR p.gpus > 0)
    GROUP BY q.team, q.pool
),
running AS (
    SELECT r.holder, p.team, p.pool,
        sum(r.gpu_units) OVER (PARTITION BY p.team, p.pool ORDER BY r.start_ms, r.holder
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto_units
    FROM standing r
    JOIN run_place p ON p.holder = r.holder
)
SELECT r.holder
FROM running r
JOIN allowed a ON a.team = r.team AND a.pool = r.pool
WHERE r.upto_units > a.units
