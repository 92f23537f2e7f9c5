-- Cells in which a node was known only part of the time, in parts: `seen` where a device or spare of the node, or spare that
-- names no node of its cluster, was known. A node whose devices are seen for the first time in the middle of a cell had them
-- before as well: what a run held there until then has no capacity to be compared with.
-- grain: node x cell x part. key: cluster, node, cell, from_ms. units: epoch ms
-- inputs: device_span, spare
-- parameters: none
-- output: node_part
WITH own AS (
    SELECT cluster, node, from_ms, to_ms FROM device_span
    UNION ALL
    SELECT cluster, node, from_ms, to_ms FROM spare WHERE node <> ''
),
span AS (
    SELECT * FROM own
    UNION ALL
    SELECT n.cluster, n.node, s.from_ms, s.to_ms
    FROM (SELECT DISTINCT cluster, node FROM own) n
    JOIN spare s ON s.cluster = n.cluster AND s.node = ''
),
ordered AS (
    SELECT cluster, node, from_ms, to_ms,
        max(to_ms) OVER (
            PARTITION BY cluster, node ORDER BY from_ms, to_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ms
    FROM span
),
numbered AS (
    SELECT cluster, node, from_ms, to_ms,
        sum(CASE WHEN before_ms IS NULL OR before_ms < from_ms THEN 1 ELSE 0 END) OVER (
            PARTITION BY cluster, node ORDER BY from_ms, to_ms) AS number
    FROM ordered
),
known AS (
    SELECT cluster, node, min(from_ms) AS from_ms, max(to_ms) AS to_ms FROM numbered GROUP BY cluster, node, number
),
partly AS (
    SELECT cluster, node, from_ms / 900000 AS cell FROM known WHERE from_ms % 900000 <> 0
    UNION
    SELECT cluster, node, to_ms / 900000 FROM known WHERE to_ms % 900000 <> 0
),
seen AS (
    SELECT p.cluster, p.node, p.cell,
        CASE WHEN k.from_ms > p.cell * 900000 THEN k.from_ms ELSE p.cell * 900000 END AS from_ms,
        CASE WHEN k.to_ms < (p.cell + 1) * 900000 THEN k.to_ms ELSE (p.cell + 1) * 900000 END AS to_ms
    FROM partly p
    JOIN known k ON k.cluster = p.cluster AND k.node = p.node AND k.from_ms < (p.cell + 1) * 900000 AND k.to_ms > p.cell * 900000
),
edge AS (
    -- every part begins where the one before it ends
    SELECT cluster, node, cell, from_ms AS at_ms, true AS seen FROM seen
    UNION ALL
    SELECT cluster, node, cell, to_ms, false FROM seen WHERE to_ms < (cell + 1) * 900000
    UNION ALL
    SELECT cluster, node, cell, cell * 900000, false FROM seen GROUP BY cluster, node, cell HAVING min(from_ms) > cell * 900000
)
SELECT cluster, node, cell, seen, at_ms AS from_ms,
    coalesce(lead(at_ms) OVER (PARTITION BY cluster, node, cell ORDER BY at_ms), (cell + 1) * 900000) AS to_ms
FROM edge
