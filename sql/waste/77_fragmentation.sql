-- Six kinds of fragmentation of a cluster. fragment_ms, in time of whole cards:
-- node_scatter (2, 4, 8)  free cards on nodes that no job of that size on one node could take, whether or not one waits
-- tier, memory, interconnect, quota_or_queue  free cards that the requests blocked by it ask for, at most those that were free
-- share_leftover  what is left of cards that others hold a part of
-- jobs: requests that it blocked in any cell, asked_ms: the cards they asked for x the time they were blocked. A request that
-- node scatter blocks stands at the least of the sizes that its cards per node fit into (9 cards and more at 8).
-- free_ms: whole cards free in the cluster.
-- grain: cluster x kind x size. units: ms of whole cards
-- inputs: scatter_cell, blocked_cell, left_cell, part_blocked
-- parameters: none
-- output: fragmentation
WITH supply AS (
    SELECT cluster, 'node_scatter' AS kind, size, sum(scattered_cards) * 900000 AS fragment_ms
    FROM scatter_cell
    GROUP BY cluster, size
    UNION ALL
    SELECT cluster, 'share_leftover', 0, sum(left_ms) FROM left_cell GROUP BY cluster
),
free AS (
    SELECT cluster, sum(free_cards) * 900000 AS free_ms FROM scatter_cell WHERE size = 2 GROUP BY cluster
),
hit AS (
    SELECT cluster, kind,
        CASE WHEN kind <> 'node_scatter' THEN 0 WHEN cards / nodes <= 2 THEN 2 WHEN cards / nodes <= 4 THEN 4 ELSE 8 END AS size,
        job_id, cell, CAST(tasks * cards AS BIGINT) * 900000 AS asked_ms, free_cards * 900000 AS free_ms
    FROM blocked_cell
    UNION ALL
    SELECT cluster, 'share_leftover', 0, job_id, cell, tasks * units * 900000 / 72072000, NULL FROM part_blocked
),
by_cell AS (
    SELECT cluster, kind, size, cell, sum(asked_ms) AS asked_ms, max(free_ms) AS free_ms
    FROM hit
    GROUP BY cluster, kind, size, cell
),
demand AS (
    SELECT cluster, kind, size, sum(asked_ms) AS asked_ms,
        sum(CASE WHEN asked_ms < free_ms THEN asked_ms ELSE free_ms END) AS usable_ms
    FROM by_cell
    GROUP BY cluster, kind, size
),
blocked AS (
    SELECT cluster, kind, size, count(DISTINCT job_id) AS jobs FROM hit GROUP BY cluster, kind, size
),
place AS (
    SELECT DISTINCT cluster FROM supply
),
listed AS (
    SELECT p.cluster, k.kind, k.size, k.position
    FROM place p
    CROSS JOIN (VALUES ('node_scatter', 2, 1), ('node_scatter', 4, 2), ('node_scatter', 8, 3), ('tier', 0, 4), ('memory', 0, 5),
        ('interconnect', 0, 6), ('quota_or_queue', 0, 7), ('share_leftover', 0, 8)) AS k (kind, size, position)
)
SELECT l.cluster, l.kind, CASE WHEN l.size > 0 THEN CAST(l.size AS VARCHAR) ELSE '-' END AS size,
    CAST(coalesce(s.fragment_ms, d.usable_ms, 0) AS BIGINT) AS fragment_ms, coalesce(b.jobs, 0) AS jobs,
    CAST(coalesce(d.asked_ms, 0) AS BIGINT) AS asked_ms, CAST(coalesce(f.free_ms, 0) AS BIGINT) AS free_ms
FROM listed l
LEFT JOIN supply s ON s.cluster = l.cluster AND s.kind = l.kind AND s.size = l.size
LEFT JOIN demand d ON d.cluster = l.cluster AND d.kind = l.kind AND d.size = l.size
LEFT JOIN blocked b ON b.cluster = l.cluster AND b.kind = l.kind AND b.size = l.size
LEFT JOIN free f ON f.cluster = l.cluster
ORDER BY l.cluster, l.position
