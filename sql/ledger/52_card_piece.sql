-- What the minutes of physical GPUs say, per piece of a tick inside a cell. Only ticks in state ok say anything.
-- grain: device x piece of a tick. key: device_id, from_ms. units: epoch ms, ppm, bytes, mW, degrees Celsius
-- inputs: tick_piece, device_minute
-- parameters: day_from INT, day_to INT
-- output: card_piece
SELECT t.device_id, t.cell, t.from_ms, t.to_ms, m.sm_ppm, m.dram_ppm, m.tensor_ppm, m.gpu_util_ppm, m.mem_used_bytes,
    m.mem_total_bytes, m.power_mw, m.power_limit_mw, m.temperature_c, m.process_count
FROM tick_piece t
JOIN device_minute m ON m.device_id = t.device_id AND m.boot_id = t.boot_id AND m.seq = t.seq
WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT) AND m.state = 'ok'
