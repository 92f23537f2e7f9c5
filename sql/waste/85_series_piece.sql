-- Series of quota, held and queued GPUs inside the window, cut where any team of the same cluster and pool changes, so that
-- the teams of a piece can be set against one another. A point holds until the next one of its team and pool, and
-- no longer than its own end.
-- grain: cluster x pool x team x piece. units: epoch ms
-- inputs: series_point
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: series_piece
WITH edge AS (
    SELECT cluster, pool, at_ms FROM series_point
    UNION SELECT cluster, pool, until_ms FROM series_point
    UNION SELECT cluster, pool, CAST($from_ms AS BIGINT) FROM series_point
    UNION SELECT cluster, pool, CAST($to_ms AS BIGINT) FROM series_point
),
team AS (
    SELECT DISTINCT cluster, pool, team FROM series_point
),
laid AS (
    SELECT t.cluster, t.pool, t.team, e.at_ms AS from_ms,
        lead(e.at_ms) OVER (PARTITION BY t.cluster, t.pool, t.team ORDER BY e.at_ms) AS to_ms,
        max(p.at_ms) OVER (PARTITION BY t.cluster, t.pool, t.team ORDER BY e.at_ms
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS point_ms
    FROM team t
    JOIN edge e ON e.cluster = t.cluster AND e.pool = t.pool
    LEFT JOIN series_point p ON p.cluster = t.cluster AND p.pool = t.pool AND p.team = t.team AND p.at_ms = e.at_ms
)
SELECT l.cluster, l.pool, l.team, l.from_ms, l.to_ms, l.point_ms
FROM laid l
JOIN series_point p ON p.cluster = l.cluster AND p.pool = l.pool AND p.team = l.team AND p.at_ms = l.point_ms
WHERE l.to_ms <= p.until_ms AND l.from_ms >= CAST($from_ms AS BIGINT) AND l.to_ms <= CAST($to_ms AS BIGINT)
