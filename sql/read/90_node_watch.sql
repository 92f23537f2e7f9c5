-- Nodes with cards at an instant, and whether their minutes come in. late: the newest minute is older than `late_ms`, or there never
-- was one although other nodes of the cluster send; lost: late, and the scheduler calls the node down; planned: late, and drained or
-- in maintenance; else ok. Clusters without any collector are not watched. Minutes are looked for in the given days, and before them
-- in cells. jobs: runs without an end that held its cards in those days.
-- grain: cluster x node. units: epoch ms, cards
-- inputs: device, device_minute, device_cell, node_state, usage, unit, run, inventory
-- parameters: at_ms BIGINT, late_ms BIGINT, from_day INT, to_day INT
-- output: node_watch
WITH version AS (
    SELECT *, row_number() OVER (PARTITION BY device_id ORDER BY first_seen_ms DESC, retired_ms NULLS FIRST, node) AS place
    FROM device
    WHERE parent_id IS NULL AND first_seen_ms <= CAST($at_ms AS BIGINT)
),
minute AS (
    SELECT device_id, max(tick_ms + dur_ms) AS newest_ms
    FROM device_minute
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
    GROUP BY device_id
),
cell AS (
    SELECT device_id, (max(cell) + 1) * 900000 AS newest_ms FROM device_cell GROUP BY device_id
),
sending AS (
    SELECT v.cluster, v.node, count(*) AS gpus, min(v.model) AS model, max(coalesce(m.newest_ms, c.newest_ms)) AS newest_ms
    FROM version v
    LEFT JOIN minute m ON m.device_id = v.device_id
    LEFT JOIN cell c ON c.device_id = v.device_id
    WHERE v.place = 1 AND (v.retired_ms IS NULL OR v.retired_ms > CAST($at_ms AS BIGINT))
    GROUP BY v.cluster, v.node
    HAVING max(coalesce(m.newest_ms, c.newest_ms)) IS NOT NULL
),
registered AS (
    SELECT cluster, node, CAST(sum(gpus) AS BIGINT) AS gpus, min(model) AS model
    FROM inventory
    WHERE node IS NOT NULL AND from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
    GROUP BY cluster, node
),
watched AS (
    SELECT cluster, node, gpus, model, newest_ms FROM sending
    UNION ALL
    SELECT r.cluster, r.node, r.gpus, r.model, CAST(NULL AS BIGINT)
    FROM registered r
    JOIN (SELECT DISTINCT cluster FROM sending) c ON c.cluster = r.cluster
    LEFT JOIN sending s ON s.cluster = r.cluster AND s.node = r.node
    WHERE s.node IS NULL
),
told AS (
    SELECT cluster, node, state, reason,
        row_number() OVER (PARTITION BY cluster, node ORDER BY from_ms DESC, as_of_ms DESC, state) AS place
    FROM node_state
    WHERE from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
),
running AS (
    SELECT u.cluster, u.node, count(DISTINCT g.holder) AS jobs
    FROM usage g
    JOIN unit u ON u.unit_id = g.unit_id
    JOIN run r ON r.holder = g.holder
    WHERE g.day >= CAST($from_day AS INT) AND g.day <= CAST($to_day AS INT) AND g.holder > 0 AND r.open AND r.kind = 'scheduler'
    GROUP BY u.cluster, u.node
)
SELECT w.cluster, w.node, w.gpus, w.model, w.newest_ms,
    CASE
        WHEN w.newest_ms >= CAST($at_ms AS BIGINT) - CAST($late_ms AS BIGINT) THEN 'ok'
        WHEN t.state IN ('drained', 'maintenance') THEN 'planned'
        WHEN t.state = 'down' THEN 'lost'
        ELSE 'late' END AS verdict,
    CASE WHEN w.newest_ms < CAST($at_ms AS BIGINT) THEN (CAST($at_ms AS BIGINT) - w.newest_ms) / 60000
        WHEN w.newest_ms IS NOT NULL THEN 0 END AS late_minutes,
    t.state, t.reason, coalesce(j.jobs, 0) AS jobs
FROM watched w
LEFT JOIN told t ON t.cluster = w.cluster AND t.node = w.node AND t.place = 1
LEFT JOIN running j ON j.cluster = w.cluster AND j.node = w.node
ORDER BY w.cluster, w.node
