-- L1: per cluster and cell (and per device where no stand-in took part) the six classes add up to the time that was
-- known there, computed from device versions, inventory and the as-of alone.
-- grain: violation. units: ms
-- inputs: usage, unit, device_span, spare
-- parameters: none
-- output: violation
WITH known AS (
    SELECT cluster, from_ms, to_ms, 1 AS cards FROM device_span
    UNION ALL SELECT cluster, from_ms, to_ms, gpus FROM spare
),
known_cell AS (
    SELECT cluster, cards, from_ms, to_ms, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell FROM known
),
expected AS (
    SELECT cluster, cell,
        CAST(sum(cards * (CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END
            - CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END)) AS BIGINT) AS known_ms
    FROM known_cell
    GROUP BY cluster, cell
),
found AS (
    SELECT u.cluster, g.cell,
        CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms + unallocated_ms + unavailable_ms + unobserved_ms) AS BIGINT)
            AS accounted_ms
    FROM usage g
    JOIN unit u ON u.unit_id = g.unit_id
    WHERE NOT g.capacity_unknown
    GROUP BY u.cluster, g.cell
)
SELECT coalesce(e.cluster, f.cluster) AS place, coalesce(e.cell, f.cell) AS cell,
    coalesce(e.known_ms, 0) AS known_ms, coalesce(f.accounted_ms, 0) AS accounted_ms
FROM expected e
FULL JOIN found f ON f.cluster = e.cluster AND f.cell = e.cell
WHERE coalesce(e.known_ms, 0) <> coalesce(f.accounted_ms, 0)
ORDER BY place, cell
