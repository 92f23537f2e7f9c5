-- Whole cards that nobody held for a whole cell, and that were in service: the cells that lie in the window as a whole. A
-- named card is free in a cell if all 900 000 ms of it are unallocated; where a stand-in of a node counts, the whole cards
-- that fit into its unallocated time. Stand-ins of clusters name no node, and nobody can say where their free cards are:
-- they are left out.
-- grain: node x queue x model x memory x interconnect x cell with any free card. units: cards, bytes
-- inputs: usage, unit, calendar
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: free_cell
WITH nobody AS (
    SELECT g.unit_id, g.cell, sum(g.unallocated_ms) AS free_ms
    FROM usage g
    JOIN calendar c ON c.cell = g.cell
    WHERE g.day >= CAST($from_day AS INT) AND g.day <= CAST($to_day AS INT) AND g.holder = 0
        AND g.cell * 900000 >= CAST($from_ms AS BIGINT) AND (g.cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
    GROUP BY g.unit_id, g.cell
    HAVING sum(g.unallocated_ms) >= 900000
)
SELECT u.cluster, u.node, u.queue, u.model, u.memory_bytes, u.interconnect, n.cell,
    CAST(sum(n.free_ms / 900000) AS BIGINT) AS cards
FROM nobody n
JOIN unit u ON u.unit_id = n.unit_id
WHERE u.node IS NOT NULL AND u.cluster IS NOT NULL
GROUP BY u.cluster, u.node, u.queue, u.model, u.memory_bytes, u.interconnect, n.cell
