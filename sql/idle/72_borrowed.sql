-- Which holders stand above their team's quota of a pool at that instant: what a team holds beyond it lies on its runs that started
-- last (of equal starts the greater id). A quota that is a part of a pool is not looked at here.
-- grain: holder. key: holder. units: share units
-- inputs: standing, run_place, quota
-- parameters: at_ms BIGINT
-- output: idle_borrowed
WITH allowed AS (
    SELECT team, pool, CAST(sum(gpus) AS BIGINT) * 72072000 AS units
    FROM quota
    WHERE gpus IS NOT NULL AND from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
    GROUP BY team, pool
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
