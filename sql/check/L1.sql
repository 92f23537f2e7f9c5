-- L1: the six classes add up to the time that was known, computed from device versions, inventory and the as-of alone:
-- per cluster and cell, and per device in every cell in which no stand-in of its cluster took part. What was known is cut to
-- [from_ms, to_ms), whole cells: the window that `usage` is read for.
-- grain: violation. units: ms
-- inputs: usage, unit, device_span, spare
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: violation
WITH ever AS (
    SELECT cluster, 0 AS device_id, from_ms, to_ms, gpus AS cards FROM spare
    UNION ALL SELECT cluster, device_id, from_ms, to_ms, 1 FROM device_span
),
known AS (
    SELECT cluster, device_id, cards,
        CASE WHEN from_ms < CAST($from_ms AS BIGINT) THEN CAST($from_ms AS BIGINT) ELSE from_ms END AS from_ms,
        CASE WHEN to_ms > CAST($to_ms AS BIGINT) THEN CAST($to_ms AS BIGINT) ELSE to_ms END AS to_ms
    FROM ever
    WHERE from_ms < CAST($to_ms AS BIGINT) AND to_ms > CAST($from_ms AS BIGINT)
),
known_cell AS (
    SELECT cluster, device_id, cards, from_ms, to_ms, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell
    FROM known
),
expected AS (
    SELECT cluster, device_id, cell,
        CAST(sum(cards * (CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END
            - CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END)) AS BIGINT) AS known_ms
    FROM known_cell
    GROUP BY cluster, device_id, cell
),
accounted AS (
    -- by whole numbers first: names come to what is left
    SELECT unit_id, cell,
        CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms + unallocated_ms + unavailable_ms + unobserved_ms) AS BIGINT)
            AS accounted_ms
    FROM usage
    WHERE NOT capacity_unknown
    GROUP BY unit_id, cell
),
found AS (
    SELECT u.cluster, a.unit_id AS device_id, a.cell, a.accounted_ms
    FROM accounted a
    JOIN unit u ON u.unit_id = a.unit_id
    WHERE u.kind = 'device'
    UNION ALL
    SELECT u.cluster, 0, a.cell, CAST(sum(a.accounted_ms) AS BIGINT)
    FROM accounted a
    JOIN unit u ON u.unit_id = a.unit_id
    WHERE u.kind <> 'device'
    GROUP BY u.cluster, a.cell
),
shared_cell AS (
    SELECT DISTINCT cluster, cell FROM found WHERE device_id = 0
),
by_cluster AS (
    SELECT coalesce(e.cluster, f.cluster) AS cluster, coalesce(e.cell, f.cell) AS cell,
        coalesce(e.known_ms, 0) AS known_ms, coalesce(f.accounted_ms, 0) AS accounted_ms
    FROM (SELECT cluster, cell, CAST(sum(known_ms) AS BIGINT) AS known_ms FROM expected GROUP BY cluster, cell) e
    FULL JOIN (SELECT cluster, cell, CAST(sum(accounted_ms) AS BIGINT) AS accounted_ms FROM found GROUP BY cluster, cell) f
        ON f.cluster = e.cluster AND f.cell = e.cell
)
SELECT cluster AS place, cell, known_ms, accounted_ms
FROM by_cluster
WHERE known_ms <> accounted_ms
UNION ALL
SELECT e.cluster || '/' || coalesce(u.uuid, CAST(e.device_id AS VARCHAR)), e.cell, e.known_ms, coalesce(f.accounted_ms, 0)
FROM expected e
LEFT JOIN found f ON f.cluster = e.cluster AND f.device_id = e.device_id AND f.cell = e.cell
LEFT JOIN shared_cell s ON s.cluster = e.cluster AND s.cell = e.cell
LEFT JOIN unit u ON u.unit_id = e.device_id
WHERE e.device_id <> 0 AND s.cell IS NULL AND e.known_ms <> coalesce(f.accounted_ms, 0)
ORDER BY place, cell
