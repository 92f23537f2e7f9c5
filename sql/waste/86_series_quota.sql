-- Quota used, borrowed, lent and unmet by imported series, per cluster, pool and team. Of each piece: used is what is held
-- within the quota, borrowed what is held above it, spare what is left of it; lent as in `quota_use`, in share units, by
-- telescoping floor in order of team. Unmet: what waiting jobs ask for; unmet_in_quota: as much of that as the team's spare
-- quota would have held. mean_ppm: mean over time of held / quota, each ratio first rounded half to even to thousandths.
-- Where a series does not say one of them, what needs it is absent for that time; known_ms is the time with quota and held.
-- grain: cluster x pool x team. units: ms of whole cards, ppm
-- inputs: series_piece, queue_minute
-- parameters: none
-- output: series_use
WITH piece AS (
    SELECT s.cluster, s.pool, s.team, s.from_ms, CAST(s.to_ms - s.from_ms AS DECIMAL(20, 0)) AS len, q.quota_units, q.held_units,
        q.queued_units,
        CASE WHEN q.held_units > q.quota_units THEN q.held_units - q.quota_units
            WHEN q.held_units <= q.quota_units THEN 0 END AS borrowed_units,
        CASE WHEN q.held_units < q.quota_units THEN q.quota_units - q.held_units
            WHEN q.held_units >= q.quota_units THEN 0 END AS spare_units
    FROM series_piece s
    JOIN queue_minute q ON q.cluster = s.cluster AND q.pool = s.pool AND q.team = s.team AND q.at_ms = s.point_ms
),
lending AS (
    SELECT *,
        sum(borrowed_units) OVER (PARTITION BY cluster, pool, from_ms) AS all_borrowed,
        sum(spare_units) OVER (PARTITION BY cluster, pool, from_ms) AS all_spare,
        sum(spare_units) OVER (PARTITION BY cluster, pool, from_ms ORDER BY team
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto
    FROM piece
),
exact AS (
    SELECT *, CAST(CASE WHEN all_borrowed < all_spare THEN all_borrowed ELSE all_spare END AS DECIMAL(38, 0)) AS lent_all,
        CASE WHEN quota_units > 0 THEN held_units * 1000 / quota_units END AS whole,
        CASE WHEN quota_units > 0 THEN held_units * 1000 % quota_units END AS rest
    FROM lending
),
shared AS (
    SELECT *,
        CASE WHEN spare_units IS NULL THEN NULL WHEN all_spare = 0 THEN CAST(0 AS DECIMAL(38, 0)) ELSE
            (lent_all * upto - lent_all * upto % all_spare) / all_spare
            - (lent_all * (upto - spare_units) - lent_all * (upto - spare_units) % all_spare) / all_spare END AS lent_units,
        CASE WHEN 2 * rest > quota_units OR (2 * rest = quota_units AND whole % 2 = 1) THEN whole + 1 ELSE whole END AS thousandths
    FROM exact
),
added AS (
    SELECT cluster, pool, team, CAST(sum(CASE WHEN spare_units IS NOT NULL THEN len END) AS DECIMAL(38, 0)) AS known_ms,
        CAST(sum(quota_units * len) AS DECIMAL(38, 0)) AS quota, CAST(sum(held_units * len) AS DECIMAL(38, 0)) AS held,
        CAST(sum((held_units - borrowed_units) * len) AS DECIMAL(38, 0)) AS used,
        CAST(sum(borrowed_units * len) AS DECIMAL(38, 0)) AS borrowed, CAST(sum(spare_units * len) AS DECIMAL(38, 0)) AS spare,
        CAST(sum(lent_units * len) AS DECIMAL(38, 0)) AS lent, CAST(sum(queued_units * len) AS DECIMAL(38, 0)) AS unmet,
        CAST(sum(CASE WHEN queued_units < spare_units THEN queued_units WHEN spare_units IS NOT NULL AND queued_units IS NOT NULL
            THEN spare_units END * len) AS DECIMAL(38, 0)) AS unmet_in_quota,
        CAST(sum(thousandths * len) AS DECIMAL(38, 0)) AS thousandth_ms,
        CAST(sum(CASE WHEN thousandths IS NOT NULL THEN len END) AS DECIMAL(38, 0)) AS ratio_ms
    FROM shared
    GROUP BY cluster, pool, team
)
SELECT cluster, CASE WHEN pool = '' THEN '-' ELSE pool END AS pool, CASE WHEN team = '' THEN '-' ELSE team END AS team,
    CAST(known_ms AS BIGINT) AS known_ms, CAST((quota - quota % 72072000) / 72072000 AS BIGINT) AS quota_ms,
    CAST((held - held % 72072000) / 72072000 AS BIGINT) AS held_ms, CAST((used - used % 72072000) / 72072000 AS BIGINT) AS used_ms,
    CAST((borrowed - borrowed % 72072000) / 72072000 AS BIGINT) AS borrowed_ms,
    CAST((spare - spare % 72072000) / 72072000 AS BIGINT) AS spare_ms, CAST((lent - lent % 72072000) / 72072000 AS BIGINT) AS lent_ms,
    CAST((unmet - unmet % 72072000) / 72072000 AS BIGINT) AS unmet_ms,
    CAST((unmet_in_quota - unmet_in_quota % 72072000) / 72072000 AS BIGINT) AS unmet_in_quota_ms,
    CAST((2000 * thousandth_ms + ratio_ms - (2000 * thousandth_ms + ratio_ms) % (2 * ratio_ms)) / (2 * ratio_ms) AS BIGINT) AS mean_ppm,
    CAST(CASE WHEN quota > 0 AND held IS NOT NULL THEN (held * 1000000 - held * 1000000 % quota) / quota END AS BIGINT)
        AS used_of_quota_ppm
FROM added
ORDER BY cluster, pool, team
