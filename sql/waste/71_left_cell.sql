-- What is left of cards that somebody else holds a part of, per cell: free time, but only for a request for a part of a card
-- that fits beside the holder (`stranded_ms` of usage).
-- grain: card x cell with any leftover. units: ms
-- inputs: usage, unit, calendar
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: left_cell
SELECT u.cluster, g.unit_id, g.cell, CAST(sum(g.stranded_ms) AS BIGINT) AS left_ms
FROM usage g
JOIN calendar c ON c.cell = g.cell
JOIN unit u ON u.unit_id = g.unit_id
WHERE g.day >= CAST($from_day AS INT) AND g.day <= CAST($to_day AS INT) AND g.stranded_ms > 0
    AND g.cell * 900000 >= CAST($from_ms AS BIGINT) AND (g.cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
GROUP BY u.cluster, g.unit_id, g.cell
