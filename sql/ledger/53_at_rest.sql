-- Spells in which a physical GPU was at rest, per cell. A tick is at rest where its state is ok, its SM activity or its
-- utilization was measured, and none that was measured is above 1 % (10 000 ppm). Ticks at rest that adjoin are one
-- spell; a hole between two ends it, because nobody knows what ran there.
-- first_ms is the spell that starts with the cell, last_ms the one that ends with it: with them spells chain over cells.
-- grain: device x cell with any rest. key: device_id, cell. units: ms, epoch ms, ppm
-- inputs: tick_piece, device_minute
-- parameters: day_from INT, day_to INT
-- output: at_rest
WITH quiet AS (
    SELECT t.device_id, t.cell, t.from_ms, t.to_ms,
        lag(t.to_ms) OVER (PARTITION BY t.device_id, t.cell ORDER BY t.from_ms) AS before_ms
    FROM tick_piece t
    JOIN device_minute m ON m.device_id = t.device_id AND m.boot_id = t.boot_id AND m.seq = t.seq
    WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT) AND m.state = 'ok'
        AND (m.sm_ppm <= 10000 OR (m.sm_ppm IS NULL AND m.gpu_util_ppm IS NOT NULL))
        AND (m.gpu_util_ppm <= 10000 OR m.gpu_util_ppm IS NULL)
),
numbered AS (
    SELECT device_id, cell, from_ms, to_ms,
        sum(CASE WHEN before_ms = from_ms THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id, cell ORDER BY from_ms ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS spell
    FROM quiet
),
spells AS (
    SELECT device_id, cell, min(from_ms) AS from_ms, max(to_ms) AS to_ms
    FROM numbered
    GROUP BY device_id, cell, spell
)
SELECT device_id, cell, CAST(sum(to_ms - from_ms) AS BIGINT) AS rest_ms, max(to_ms - from_ms) AS longest_ms,
    max(CASE WHEN from_ms = cell * 900000 THEN to_ms - from_ms END) AS first_ms,
    max(CASE WHEN to_ms = (cell + 1) * 900000 THEN to_ms - from_ms END) AS last_ms
FROM spells
GROUP BY device_id, cell
