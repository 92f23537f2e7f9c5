-- L4: granted shares add up to at most the card: a device's cell has no more than its length.
-- grain: violation: unit x cell. units: ms
-- inputs: cell_sum, unit
-- parameters: none
-- output: violation
SELECT u.uuid AS place, g.cell, CAST(g.held_ms - 900000 AS BIGINT) AS over_ms
FROM cell_sum g
JOIN unit u ON u.unit_id = g.unit_id AND u.kind = 'device'
WHERE g.held_ms > 900000
ORDER BY place, cell
