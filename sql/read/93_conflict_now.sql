-- Cards of which more was asked for than there is, in a window: how much was not granted, and who held them in those cells. A place
-- without a card is a node or cluster whose holders name none.
-- grain: unit x holder. units: epoch ms, ms
-- inputs: usage, unit, run
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: conflict_now
WITH window_use AS (
    SELECT unit_id, cell, holder, from_ms, to_ms, conflict_ms
    FROM usage
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT) AND from_ms < CAST($to_ms AS BIGINT)
        AND to_ms > CAST($from_ms AS BIGINT) AND holder <> 0
),
hit AS (
    SELECT unit_id, cell, min(from_ms) AS from_ms, max(to_ms) AS to_ms, sum(conflict_ms) AS ms
    FROM window_use
    WHERE conflict_ms > 0
    GROUP BY unit_id, cell
),
place AS (
    SELECT unit_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, CAST(sum(ms) AS BIGINT) AS ms FROM hit GROUP BY unit_id
),
holding AS (
    SELECT DISTINCT w.unit_id, w.holder FROM window_use w JOIN hit h ON h.unit_id = w.unit_id AND h.cell = w.cell
)
SELECT p.unit_id, coalesce(u.cluster, '-') AS cluster, coalesce(u.node, '*') AS node, coalesce(u.uuid, '*') AS device, p.from_ms, p.to_ms,
    p.ms, coalesce(r.cluster, '-') || '/' || coalesce(r.job_raw, '-') AS job
FROM place p
JOIN unit u ON u.unit_id = p.unit_id
JOIN holding h ON h.unit_id = p.unit_id
LEFT JOIN run r ON r.holder = h.holder
ORDER BY cluster, node, device, p.unit_id, job
