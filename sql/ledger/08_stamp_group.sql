-- Samples of a host: stamps closer than half the usual interval (the exact median of its intervals) are one
-- sample at the earlier stamp.
-- grain: host x stamp. key: cluster, node, stamp_ms. units: epoch ms
-- inputs: sample
-- parameters: none
-- output: stamp_group
WITH stamp AS (
    SELECT DISTINCT cluster, node, stamp_ms FROM sample
),
gap AS (
    SELECT cluster, node, stamp_ms,
        stamp_ms - lag(stamp_ms) OVER (PARTITION BY cluster, node ORDER BY stamp_ms) AS gap_ms
    FROM stamp
),
ranked AS (
    SELECT cluster, node, gap_ms,
        row_number() OVER (PARTITION BY cluster, node ORDER BY gap_ms) AS place,
        count(*) OVER (PARTITION BY cluster, node) AS gaps
    FROM gap
    WHERE gap_ms IS NOT NULL
),
usual AS (
    SELECT cluster, node, gap_ms AS usual_ms FROM ranked WHERE place = (gaps + 1) / 2
)
SELECT g.cluster, g.node, g.stamp_ms,
    max(CASE WHEN g.gap_ms IS NULL OR 2 * g.gap_ms >= u.usual_ms THEN g.stamp_ms END)
        OVER (PARTITION BY g.cluster, g.node ORDER BY g.stamp_ms) AS group_ms
FROM gap g
LEFT JOIN usual u ON u.cluster = g.cluster AND u.node = g.node
