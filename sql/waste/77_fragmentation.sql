-- Six kinds of fragmentation of a cluster. fragment_ms, in time of whole cards:
-- node_scatter (2, 4, 8)  free cards on nodes that no job of that size on one node could take, whether or not one waits
-- tier, memory, interconnect, quota_or_queue  free cards that the requests blocked by it ask for, at most those that were free
-- share_leftover  what is left of cards that others hold a part of
-- jobs: requests that it blocked in any cell, asked_ms: the cards they asked for x the time they were blocked.
-- free_ms: whole cards free in the cluster.
-- grain: cluster x kind x size. units: ms of whole cards
-- inputs: scatter_cell, left_cell, fragment_hit
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
by_cell AS (
    SELECT cluster, kind, size, cell, sum(asked_ms) AS asked_ms, max(free_ms) AS free_ms
    FROM fragment_hit
    GROUP BY cluster, kind, size, cell
),
demand AS (
    SELECT cluster, kind, size, sum(asked_ms) AS asked_ms,
        sum(CASE WHEN asked_ms < free_ms THEN asked_ms ELSE free_ms END) AS usable_ms
    FROM by_cell
    GROUP BY cluster, kind, size
),
blocked AS (
    SELECT cluster, kind, size, count(DISTINCT job_id) AS jobs FROM fragment_hit GROUP BY cluster, kind, size
),
place AS (
    SELECT cluster FROM scatter_cell UNION SELECT cluster FROM left_cell
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
