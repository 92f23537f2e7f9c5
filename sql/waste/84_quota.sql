-- Quota used, borrowed, lent and unmet per pool and team. What is borrowed in a pool and cell comes from the teams that leave
-- some of their quota, in proportion to what each leaves (telescoping floor in order of team); what exceeds all that they
-- leave comes from the pool's cards that are nobody's quota, and is lent by no team.
-- Unmet: cards of the team's requests x the time they waited is known by series only; where the ledger knows requests, their
-- queue is no pool and their account no team yet, so that it is absent here.
-- grain: pool x team. units: ms
-- inputs: quota_cell
-- parameters: none
-- output: quota_use
WITH lending AS (
    SELECT *,
        sum(borrowed_ms) OVER (PARTITION BY pool, cell) AS all_borrowed_ms,
        sum(spare_ms) OVER (PARTITION BY pool, cell) AS all_spare_ms,
        sum(spare_ms) OVER (PARTITION BY pool, cell ORDER BY team ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto_ms
    FROM quota_cell
),
exact AS (
    SELECT *, CAST(CASE WHEN all_borrowed_ms < all_spare_ms THEN all_borrowed_ms ELSE all_spare_ms END AS DECIMAL(38, 0)) AS lent_all
    FROM lending
),
shared AS (
    SELECT pool, team, quota_ms, held_ms, borrowed_ms, spare_ms,
        CASE WHEN spare_ms IS NULL THEN NULL WHEN all_spare_ms = 0 THEN CAST(0 AS DECIMAL(38, 0)) ELSE
            (lent_all * upto_ms - lent_all * upto_ms % all_spare_ms) / all_spare_ms
            - (lent_all * (upto_ms - spare_ms) - lent_all * (upto_ms - spare_ms) % all_spare_ms) / all_spare_ms
        END AS lent_ms
    FROM exact
)
SELECT '-' AS cluster, pool, team, CAST(sum(quota_ms) AS BIGINT) AS quota_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
    CAST(sum(CASE WHEN quota_ms IS NOT NULL THEN held_ms - borrowed_ms END) AS BIGINT) AS used_ms,
    CAST(sum(borrowed_ms) AS BIGINT) AS borrowed_ms, CAST(sum(spare_ms) AS BIGINT) AS spare_ms,
    CAST(sum(lent_ms) AS BIGINT) AS lent_ms, CAST(NULL AS BIGINT) AS unmet_ms, CAST(NULL AS BIGINT) AS unmet_in_quota_ms,
    CAST(CASE WHEN sum(quota_ms) > 0
        THEN CAST(sum(CASE WHEN quota_ms IS NOT NULL THEN held_ms END) AS DECIMAL(38, 0)) * 1000000 / sum(quota_ms) END AS BIGINT)
        AS used_of_quota_ppm,
    CAST(NULL AS BIGINT) AS mean_ppm
FROM shared
GROUP BY pool, team
ORDER BY pool, team
