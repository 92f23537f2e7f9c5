-- L1: the six classes add up to the time that was known, computed from device versions, inventory and the as-of alone:
-- per cluster and cell, and per device in every cell in which no stand-in of its cluster took part. What was known is cut to
-- [from_ms, to_ms), whole cells: the window that `cell_sum` is read for.
-- What a cluster knows of a cell comes of where its spans begin and end. A device that is known without a gap, nearly every one, is
-- compared cell by cell with that stretch; cells are only counted out one by one for a device of which some are missing, or that
-- has gaps.
-- grain: violation. units: ms
-- inputs: cell_sum, unit, device_span, spare
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
    WHERE from_ms < to_ms AND from_ms < CAST($to_ms AS BIGINT) AND to_ms > CAST($from_ms AS BIGINT)
),
event AS (
    -- from the cell of a beginning on there is a cell more of each card, less what of that cell lies before it; an end takes it back
    SELECT cluster, from_ms / 900000 AS cell, cards * 900000 AS more_ms, -cards * (from_ms % 900000) AS here_ms FROM known
    UNION ALL SELECT cluster, to_ms / 900000, -cards * 900000, cards * (to_ms % 900000) FROM known
),
level AS (
    SELECT cluster, cell, CAST(sum(more_ms) AS BIGINT) AS more_ms, CAST(sum(here_ms) AS BIGINT) AS here_ms FROM event GROUP BY cluster, cell
),
stair AS (
    SELECT cluster, cell, here_ms, CAST(sum(more_ms) OVER (PARTITION BY cluster ORDER BY cell) AS BIGINT) AS level_ms,
        lead(cell) OVER (PARTITION BY cluster ORDER BY cell) AS next_cell
    FROM level
),
step AS (
    SELECT cluster, cell AS first_cell, here_ms, level_ms, unnest(range(cell, coalesce(next_cell, cell + 1))) AS cell FROM stair
),
expected AS (
    SELECT cluster, cell, level_ms + CASE WHEN cell = first_cell THEN here_ms ELSE 0 END AS known_ms FROM step
),
found AS (
    SELECT u.cluster, c.cell, CAST(sum(c.accounted_ms) AS BIGINT) AS accounted_ms
    FROM cell_sum c
    JOIN unit u ON u.unit_id = c.unit_id
    WHERE c.known
    GROUP BY u.cluster, c.cell
),
shared_cell AS (
    SELECT DISTINCT u.cluster, c.cell FROM unit u JOIN cell_sum c ON c.unit_id = u.unit_id WHERE u.kind <> 'device' AND c.known
),
begun AS (
    SELECT *, CASE WHEN lag(to_ms) OVER (PARTITION BY cluster, device_id ORDER BY from_ms, to_ms) = from_ms THEN 0 ELSE 1 END AS begins
    FROM known
    WHERE device_id <> 0
),
stretch AS (
    SELECT cluster, device_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, sum(begins) AS stretches
    FROM begun
    GROUP BY cluster, device_id
),
beside AS (
    SELECT s.cluster, s.device_id, c.cell, c.accounted_ms,
        least(s.to_ms, (c.cell + 1) * 900000) - greatest(s.from_ms, c.cell * 900000) AS known_ms
    FROM stretch s
    JOIN unit u ON u.unit_id = s.device_id AND u.kind = 'device' AND u.cluster = s.cluster
    JOIN cell_sum c ON c.unit_id = s.device_id AND c.cell * 900000 < s.to_ms AND (c.cell + 1) * 900000 > s.from_ms
    WHERE s.stretches = 1 AND c.known
),
seen AS (
    SELECT device_id, sum(known_ms) AS known_ms FROM beside GROUP BY device_id
),
thin AS (
    SELECT s.cluster, s.device_id
    FROM stretch s
    LEFT JOIN seen n ON n.device_id = s.device_id
    WHERE s.stretches > 1 OR coalesce(n.known_ms, 0) <> s.to_ms - s.from_ms
),
known_cell AS (
    SELECT k.cluster, k.device_id, k.from_ms, k.to_ms, unnest(range(k.from_ms / 900000, (k.to_ms - 1) / 900000 + 1)) AS cell
    FROM thin t
    JOIN known k ON k.cluster = t.cluster AND k.device_id = t.device_id
),
counted_out AS (
    SELECT cluster, device_id, cell,
        CAST(sum(CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END
            - CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END) AS BIGINT) AS known_ms
    FROM known_cell
    GROUP BY cluster, device_id, cell
),
by_device AS (
    SELECT b.cluster, b.device_id, b.cell, b.known_ms, b.accounted_ms
    FROM beside b
    LEFT JOIN thin t ON t.cluster = b.cluster AND t.device_id = b.device_id
    WHERE b.known_ms <> b.accounted_ms AND t.device_id IS NULL
    UNION ALL
    SELECT o.cluster, o.device_id, o.cell, o.known_ms, coalesce(c.accounted_ms, 0)
    FROM counted_out o
    LEFT JOIN unit u ON u.unit_id = o.device_id AND u.kind = 'device' AND u.cluster = o.cluster
    LEFT JOIN cell_sum c ON c.unit_id = u.unit_id AND c.cell = o.cell AND c.known
    WHERE o.known_ms <> coalesce(c.accounted_ms, 0)
)
SELECT coalesce(e.cluster, f.cluster) AS place, coalesce(e.cell, f.cell) AS cell, coalesce(e.known_ms, 0) AS known_ms,
    coalesce(f.accounted_ms, 0) AS accounted_ms
FROM expected e
FULL JOIN found f ON f.cluster = e.cluster AND f.cell = e.cell
WHERE coalesce(e.known_ms, 0) <> coalesce(f.accounted_ms, 0)
UNION ALL
SELECT d.cluster || '/' || coalesce(u.uuid, CAST(d.device_id AS VARCHAR)), d.cell, d.known_ms, d.accounted_ms
FROM by_device d
LEFT JOIN shared_cell s ON s.cluster = d.cluster AND s.cell = d.cell
LEFT JOIN unit u ON u.unit_id = d.device_id
WHERE s.cell IS NULL
ORDER BY place, cell
