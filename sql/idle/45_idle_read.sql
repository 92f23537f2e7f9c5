-- What is known of each scheduler at an instant: the newest successful reading, one that failed since, and how many runs that
-- reading and the one before it showed. Of the past, an import speaks of all its time as if it had been read just then. A cluster
-- of which nobody holds anything and that was not read for a day is not looked at: it may be no more.
-- grain: cluster. key: cluster. units: epoch ms
-- inputs: reading, scheduler_run, standing
-- parameters: at_ms BIGINT, live BOOLEAN
-- output: idle_read
WITH good AS (
    SELECT cluster, to_ms AS read_ms
    FROM reading
    WHERE ok AND kind = 'scheduler' AND (CAST($live AS BOOLEAN) OR to_ms <= CAST($at_ms AS BIGINT))
    UNION ALL
    SELECT cluster, CAST($at_ms AS BIGINT)
    FROM reading
    WHERE ok AND kind = 'import' AND NOT CAST($live AS BOOLEAN) AND from_ms <= CAST($at_ms AS BIGINT) AND to_ms >= CAST($at_ms AS BIGINT)
),
newest AS (
    SELECT cluster, max(read_ms) AS read_ms FROM good GROUP BY cluster
),
earlier AS (
    SELECT g.cluster, max(g.read_ms) AS before_ms
    FROM good g
    JOIN newest n ON n.cluster = g.cluster AND g.read_ms < n.read_ms
    GROUP BY g.cluster
),
known AS (
    SELECT cluster FROM reading WHERE kind = 'scheduler' GROUP BY cluster
    UNION
    SELECT cluster FROM newest
),
bad AS (
    SELECT r.cluster, r.read_at_ms AS failed_ms, r.error,
        row_number() OVER (PARTITION BY r.cluster ORDER BY r.read_at_ms DESC, r.error) AS place
    FROM reading r
    LEFT JOIN newest n ON n.cluster = r.cluster
    WHERE NOT r.ok AND r.kind = 'scheduler' AND (n.read_ms IS NULL OR r.read_at_ms > n.read_ms)
        AND (CAST($live AS BOOLEAN) OR r.read_at_ms <= CAST($at_ms AS BIGINT))
),
counted AS (
    SELECT n.cluster, count(CASE WHEN r.start_ms <= n.read_ms AND r.end_ms >= n.read_ms THEN 1 END) AS jobs,
        count(CASE WHEN r.start_ms <= e.before_ms AND r.end_ms >= e.before_ms THEN 1 END) AS jobs_before
    FROM newest n
    LEFT JOIN earlier e ON e.cluster = n.cluster
    LEFT JOIN scheduler_run r ON r.cluster = n.cluster
    GROUP BY n.cluster
)
SELECT k.cluster, n.read_ms, e.before_ms, b.failed_ms, b.error, c.jobs,
    CASE WHEN e.before_ms IS NOT NULL THEN c.jobs_before END AS jobs_before
FROM known k
LEFT JOIN newest n ON n.cluster = k.cluster
LEFT JOIN earlier e ON e.cluster = k.cluster
LEFT JOIN bad b ON b.cluster = k.cluster AND b.place = 1
LEFT JOIN counted c ON c.cluster = k.cluster
WHERE n.read_ms >= CAST($at_ms AS BIGINT) - 86400000 OR k.cluster IN (SELECT cluster FROM standing WHERE kind <> 'session')
