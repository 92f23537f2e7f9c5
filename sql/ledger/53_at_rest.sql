-- Spells in which a physical GPU was at rest, per cell. A tick is at rest where its SM activity or its utilization was
-- measured, and none that was measured is above 1 % (10 000 ppm). Ticks at rest that adjoin are one spell; a hole between two
-- ends it, because nobody knows what ran there.
-- first_ms is the spell that starts with the cell, last_ms the one that ends with it: with them spells chain over cells.
-- grain: device x cell with any rest. key: device_id, cell. units: ms, epoch ms, ppm
-- inputs: card_piece
-- parameters: none
-- output: at_rest
WITH quiet AS (
    SELECT device_id, cell, from_ms, to_ms
    FROM card_piece
    WHERE (sm_ppm <= 10000 OR (sm_ppm IS NULL AND gpu_util_ppm IS NOT NULL)) AND (gpu_util_ppm <= 10000 OR gpu_util_ppm IS NULL)
),
in_cell AS (
    SELECT device_id, cell, min(from_ms) AS from_ms, max(to_ms) AS to_ms, sum(to_ms - from_ms) AS ms
    FROM quiet
    GROUP BY device_id, cell
),
broken AS (
    -- only these have more than one spell, and an order
    SELECT q.device_id, q.cell, q.from_ms, q.to_ms,
        lag(q.to_ms) OVER (PARTITION BY q.device_id, q.cell ORDER BY q.from_ms) AS before_ms
    FROM in_cell c
    JOIN quiet q ON q.device_id = c.device_id AND q.cell = c.cell
    WHERE c.to_ms - c.from_ms > c.ms
),
numbered AS (
    SELECT device_id, cell, from_ms, to_ms,
        sum(CASE WHEN before_ms = from_ms THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id, cell ORDER BY from_ms ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS spell
    FROM broken
),
spells AS (
    SELECT device_id, cell, from_ms, to_ms FROM in_cell WHERE to_ms - from_ms = ms
    UNION ALL
    SELECT device_id, cell, min(from_ms), max(to_ms) FROM numbered GROUP BY device_id, cell, spell
)
SELECT device_id, cell, CAST(sum(to_ms - from_ms) AS BIGINT) AS rest_ms, max(to_ms - from_ms) AS longest_ms,
    max(CASE WHEN from_ms = cell * 900000 THEN to_ms - from_ms END) AS first_ms,
    max(CASE WHEN to_ms = (cell + 1) * 900000 THEN to_ms - from_ms END) AS last_ms
FROM spells
GROUP BY device_id, cell
