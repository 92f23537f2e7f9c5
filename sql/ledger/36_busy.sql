-- Busy time of each holder on a device in a cell: ticks in which all its rows were measured, spread over the cells
-- a tick touches by telescoping floor.
-- grain: device x cell x holder. key: device_id, cell, holder. units: ms
-- inputs: holder_tick, tick_piece
-- parameters: none
-- output: busy
SELECT t.device_id, t.cell, h.holder,
    CAST(sum(h.busy_ms * (t.to_ms - t.placed_ms) / t.dur_ms - h.busy_ms * (t.from_ms - t.placed_ms) / t.dur_ms)
        AS BIGINT) AS busy_ms,
    max(h.mem_peak_bytes) AS mem_peak_bytes
FROM holder_tick h
JOIN tick_piece t ON t.device_id = h.device_id AND t.tick_from_ms = h.tick_from_ms
WHERE h.measured
GROUP BY t.device_id, t.cell, h.holder
