-- Ticks cut at cell edges, at the window and at what is known of the card (nothing exists before it came or after the
-- as-of, so nothing ran there); the energy of a tick is spread by telescoping floor.
-- grain: device x cell x tick. key: device_id, cell, from_ms. units: epoch ms
-- inputs: tick, device_span
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: tick_piece
WITH known AS (
    SELECT t.device_id, t.from_ms AS tick_from_ms, t.placed_ms, t.dur_ms, t.boot_id, t.seq, t.healthy, t.util_measured,
        t.energy_mj, t.gpu_util_ppm, t.power_mw, t.power_limit_mw,
        CASE WHEN t.from_ms > d.from_ms THEN t.from_ms ELSE d.from_ms END AS from_ms,
        CASE WHEN t.to_ms < d.to_ms THEN t.to_ms ELSE d.to_ms END AS to_ms
    FROM tick t
    JOIN device_span d ON d.device_id = t.device_id AND d.from_ms < t.to_ms AND d.to_ms > t.from_ms
    WHERE t.to_ms > CAST($lo_ms AS BIGINT) AND t.from_ms < CAST($hi_ms AS BIGINT)
),
cut AS (
    SELECT *, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell FROM known
),
clipped AS (
    SELECT device_id, cell, tick_from_ms, placed_ms, dur_ms, boot_id, seq, healthy, util_measured, energy_mj,
        gpu_util_ppm, power_mw, power_limit_mw,
        CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END AS from_ms,
        CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END AS to_ms
    FROM cut
    WHERE cell >= CAST($lo_ms AS BIGINT) / 900000 AND cell < CAST($hi_ms AS BIGINT) / 900000
)
SELECT device_id, cell, tick_from_ms, placed_ms, dur_ms, boot_id, seq, healthy, util_measured, from_ms, to_ms,
    energy_mj * (to_ms - placed_ms) / dur_ms - energy_mj * (from_ms - placed_ms) / dur_ms AS energy_mj,
    gpu_util_ppm, power_mw, power_limit_mw
FROM clipped
