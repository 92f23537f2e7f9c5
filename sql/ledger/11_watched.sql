-- When a scheduler was watched: between two successful looks of a source that are at most three of its usual intervals
-- apart, and never more than an hour. Usual is the exact median of the holes between its looks that begin on the same UTC
-- day, so that later days change nothing. What was so at both ends is taken to have been so between them.
-- grain: cluster x source x maximal interval. units: epoch ms
-- inputs: reading
-- parameters: none
-- output: watched
WITH look_at AS (
    SELECT DISTINCT cluster, source, to_ms FROM reading WHERE ok AND kind = 'scheduler'
),
hole AS (
    SELECT cluster, source, to_ms AS from_ms, lead(to_ms) OVER (PARTITION BY cluster, source ORDER BY to_ms) AS to_ms
    FROM look_at
),
ranked AS (
    SELECT cluster, source, from_ms, to_ms, from_ms / 86400000 AS day,
        row_number() OVER (PARTITION BY cluster, source, from_ms / 86400000 ORDER BY to_ms - from_ms) AS place,
        count(*) OVER (PARTITION BY cluster, source, from_ms / 86400000) AS holes
    FROM hole
    WHERE to_ms IS NOT NULL
),
usual AS (
    SELECT cluster, source, day, to_ms - from_ms AS usual_ms FROM ranked WHERE place = (holes + 1) / 2
),
short AS (
    SELECT r.cluster, r.source, r.from_ms, r.to_ms
    FROM ranked r
    JOIN usual u ON u.cluster = r.cluster AND u.source = r.source AND u.day = r.day
    WHERE r.to_ms - r.from_ms <= 3 * u.usual_ms AND r.to_ms - r.from_ms <= 3600000
),
joined AS (
    SELECT *, CASE WHEN from_ms = lag(to_ms) OVER (PARTITION BY cluster, source ORDER BY from_ms) THEN 0 ELSE 1 END AS begins
    FROM short
),
island AS (
    SELECT *, sum(begins) OVER (PARTITION BY cluster, source ORDER BY from_ms) AS number FROM joined
)
SELECT cluster, source, min(from_ms) AS from_ms, max(to_ms) AS to_ms
FROM island
GROUP BY cluster, source, number
