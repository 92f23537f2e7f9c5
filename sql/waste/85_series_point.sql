-- Points of imported series and until when each may hold: no longer than its own `dur_ms`, and no longer than what the newest
-- reading of a series of its cluster speaks of.
-- grain: cluster x pool x team x instant. units: epoch ms
-- inputs: queue_minute, reading
-- parameters: none
-- output: series_point
WITH read_to AS (
    SELECT cluster, max(to_ms) AS end_ms FROM reading WHERE ok AND kind = 'series' GROUP BY cluster
)
SELECT q.cluster, q.pool, q.team, q.at_ms,
    CASE WHEN q.at_ms + q.dur_ms < e.end_ms THEN q.at_ms + q.dur_ms ELSE e.end_ms END AS until_ms
FROM queue_minute q
JOIN read_to e ON e.cluster = q.cluster
