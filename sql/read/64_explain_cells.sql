-- Cells of one run.
-- grain: unit x cell. units: epoch ms, ms
-- inputs: usage, unit
-- parameters: holder BIGINT, from_day INT, to_day INT
-- output: cells
SELECT coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')) AS place, g.from_ms, g.to_ms, g.busy_ms, g.held_idle_ms,
    g.held_unmeasured_ms, g.covered_ms, g.effective_ms, g.unavailable_ms, g.conflict_ms, g.basis
FROM usage g
LEFT JOIN unit u ON u.unit_id = g.unit_id
WHERE g.holder = CAST($holder AS BIGINT) AND g.day >= CAST($from_day AS INT) AND g.day <= CAST($to_day AS INT)
ORDER BY place, g.from_ms
