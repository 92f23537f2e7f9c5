-- Blocked requests of all kinds together, with what they ask for in time of whole cards. A request that node scatter blocks
-- stands at the least of the sizes 2, 4 and 8 that its cards per node fit into (9 cards and more at 8); other kinds have size 0.
-- grain: request x cell. units: ms of whole cards
-- inputs: blocked_cell, part_blocked
-- parameters: none
-- output: fragment_hit
SELECT cluster, kind,
    CASE WHEN kind <> 'node_scatter' THEN 0 WHEN cards / nodes <= 2 THEN 2 WHEN cards / nodes <= 4 THEN 4 ELSE 8 END AS size,
    job_id, cell, CAST(tasks * cards * 900000 AS BIGINT) AS asked_ms, free_cards * 900000 AS free_ms
FROM blocked_cell
UNION ALL
SELECT cluster, 'share_leftover', 0, job_id, cell, CAST(CAST(tasks * units AS DECIMAL(38, 0)) * 900000 / 72072000 AS BIGINT), NULL
FROM part_blocked
