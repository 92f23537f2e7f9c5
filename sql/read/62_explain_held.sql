-- Held intervals of one run: adjoining usage rows of a unit together.
-- grain: unit x interval. units: epoch ms, ms
-- inputs: usage, unit
-- parameters: holder BIGINT, from_day INT, to_day INT
-- output: held
WITH own AS (
    SELECT g.*, lag(g.to_ms) OVER (PARTITION BY g.unit_id ORDER BY g.from_ms) AS before_ms
    FROM usage g
    WHERE g.holder = CAST($holder AS BIGINT) AND g.day >= CAST($from_day AS INT) AND g.day <= CAST($to_day AS INT)
),
numbered AS (
    SELECT *, sum(CASE WHEN before_ms = from_ms THEN 0 ELSE 1 END) OVER (PARTITION BY unit_id ORDER BY from_ms) AS part
    FROM own
)
SELECT coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')) AS place, min(n.from_ms) AS from_ms, max(n.to_ms) AS to_ms,
    count(*) AS cells,
    CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS BIGINT) AS held_ms, CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
    CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms, CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
    CAST(sum(unavailable_ms) AS BIGINT) AS unavailable_ms, CAST(sum(conflict_ms) AS BIGINT) AS conflict_ms
FROM numbered n
LEFT JOIN unit u ON u.unit_id = n.unit_id
GROUP BY coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')), n.unit_id, n.part
ORDER BY place, from_ms
