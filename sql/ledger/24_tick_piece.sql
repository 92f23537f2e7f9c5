-- Ticks cut at cell edges and at the window; the energy of a tick is spread by telescoping floor.
-- grain: device x cell x tick. key: device_id, cell, from_ms. units: epoch ms
-- inputs: tick
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: tick_piece
WITH cut AS (
    SELECT *, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell
    FROM tick
    WHERE to_ms > CAST($lo_ms AS BIGINT) AND from_ms < CAST($hi_ms AS BIGINT)
),
clipped AS (
    SELECT device_id, cell, from_ms AS tick_from_ms, placed_ms, dur_ms, boot_id, seq, healthy, util_measured, energy_mj,
        CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END AS from_ms,
        CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END AS to_ms
    FROM cut
    WHERE cell >= CAST($lo_ms AS BIGINT) / 900000 AND cell < CAST($hi_ms AS BIGINT) / 900000
)
SELECT device_id, cell, tick_from_ms, placed_ms, dur_ms, boot_id, seq, healthy, util_measured, from_ms, to_ms,
    energy_mj * (to_ms - placed_ms) / dur_ms - energy_mj * (from_ms - placed_ms) / dur_ms AS energy_mj
FROM clipped
