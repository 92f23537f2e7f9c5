-- Quota used, borrowed, lent and unmet per pool and team. What is borrowed in a pool and cell comes from the teams that leave
-- some of their quota, in proportion to what each leaves (telescoping floor in order of team); what exceeds all that they
-- leave comes from the pool's cards that are nobody's quota, and is lent by no team.
-- Unmet: GPUs of the team's requests x the time they waited (91), 0 where requests are known and none of the team's waited, absent
-- where no request is known. How much of it lay within the quota is known by series only. A pool `-` has requests alone, whose
-- cards could have been of several pools.
-- grain: pool x team. units: ms
-- inputs: quota_cell, unmet, request
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
),
summed AS (
    SELECT pool, team, sum(quota_ms) AS quota_ms, sum(held_ms) AS held_ms,
        sum(CASE WHEN quota_ms IS NOT NULL THEN held_ms - borrowed_ms END) AS used_ms, sum(borrowed_ms) AS borrowed_ms,
        sum(spare_ms) AS spare_ms, sum(lent_ms) AS lent_ms, sum(CASE WHEN quota_ms IS NOT NULL THEN held_ms END) AS with_quota_ms
    FROM shared
    GROUP BY pool, team
)
SELECT '-' AS cluster, coalesce(s.pool, u.pool) AS pool, coalesce(s.team, u.team) AS team, CAST(s.quota_ms AS BIGINT) AS quota_ms,
    CAST(coalesce(s.held_ms, 0) AS BIGINT) AS held_ms, CAST(s.used_ms AS BIGINT) AS used_ms,
    CAST(s.borrowed_ms AS BIGINT) AS borrowed_ms, CAST(s.spare_ms AS BIGINT) AS spare_ms, CAST(s.lent_ms AS BIGINT) AS lent_ms,
    CASE WHEN (SELECT count(*) FROM request) > 0 THEN coalesce(u.unmet_ms, 0) END AS unmet_ms,
    CAST(NULL AS BIGINT) AS unmet_in_quota_ms,
    CAST(CASE WHEN s.quota_ms > 0 THEN CAST(s.with_quota_ms AS DECIMAL(38, 0)) * 1000000 / s.quota_ms END AS BIGINT)
        AS used_of_quota_ppm,
    CAST(NULL AS BIGINT) AS mean_ppm
FROM summed s
FULL JOIN unmet u ON u.pool = s.pool AND u.team = s.team
ORDER BY pool, team
