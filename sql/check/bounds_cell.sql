-- bounds: rows of usage lie within what keeps exact sums from wrapping: none of a device has more than its cell.
-- grain: violation: unit x cell, with its greatest row
-- inputs: cell_sum, unit
-- parameters: none
-- output: violation
SELECT 'usage' AS what, c.unit_id AS id, c.cell, c.most_ms AS value
FROM cell_sum c
JOIN unit u ON u.unit_id = c.unit_id
WHERE u.kind = 'device' AND c.most_ms > 900000
ORDER BY id, cell
