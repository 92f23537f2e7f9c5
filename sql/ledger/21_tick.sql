-- Ticks of physical GPUs in true time. A tick whose wall time disagrees by more than a second with its boot-time
-- clock and the boot's newest trusted offset is placed by those (and flagged `moved`). Where ticks of one device
-- overlap, the earlier start keeps the time and the other is clipped. Samples of hosts are ticks of their GPUs.
-- A tick is healthy if its state is ok and all its process rows are in (their count equals process_count).
-- grain: device x tick. key: device_id, from_ms. units: epoch ms, ms
-- inputs: device_minute, process_minute, boot_offset, device_span, sample_tick, name
-- parameters: day_from INT, day_to INT, near_from_ms BIGINT, near_to_ms BIGINT
-- output: tick
WITH physical AS (
    SELECT DISTINCT device_id FROM device_span
),
rows_in AS (
    SELECT device_id, boot_id, seq, count(*) AS process_rows
    FROM process_minute
    WHERE day >= CAST($day_from AS INT) AND day < CAST($day_to AS INT)
    GROUP BY device_id, boot_id, seq
),
placed AS (
    SELECT m.device_id, m.boot_id, m.seq, m.collector_id, m.dur_ms, m.state, m.energy_mj,
        m.gpu_util_ppm, m.power_mw, m.power_limit_mw,
        m.gpu_util_ppm IS NOT NULL AS util_measured,
        m.state = 'ok' AND coalesce(r.process_rows, 0) = m.process_count AS healthy,
        abs(m.tick_ms - m.mono_ms - o.offset_ms) > 1000 AS moved,
        CASE WHEN abs(m.tick_ms - m.mono_ms - o.offset_ms) > 1000 THEN m.mono_ms + o.offset_ms ELSE m.tick_ms END
            AS placed_ms
    FROM device_minute m
    JOIN physical p ON p.device_id = m.device_id
    JOIN boot_offset o ON o.boot_id = m.boot_id AND o.day = m.day
    LEFT JOIN rows_in r ON r.device_id = m.device_id AND r.boot_id = m.boot_id AND r.seq = m.seq
    WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT)
    UNION ALL
    SELECT n.id, 0, s.seq, 0, s.to_ms - s.from_ms, 'ok', NULL, NULL, NULL, NULL, true, true, false, s.from_ms
    FROM sample_tick s
    JOIN name n ON n.kind = 'gpu' AND n.a = s.cluster AND n.b = s.node
),
ordered AS (
    SELECT *,
        max(placed_ms + dur_ms) OVER (
            PARTITION BY device_id ORDER BY placed_ms, collector_id, boot_id, seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken_ms
    FROM placed
    WHERE placed_ms < CAST($near_to_ms AS BIGINT) AND placed_ms + dur_ms > CAST($near_from_ms AS BIGINT)
)
SELECT device_id, boot_id, seq, placed_ms, dur_ms,
    CASE WHEN taken_ms > placed_ms THEN taken_ms ELSE placed_ms END AS from_ms,
    placed_ms + dur_ms AS to_ms,
    state, healthy, util_measured, moved, coalesce(taken_ms > placed_ms, false) AS clipped, energy_mj,
    gpu_util_ppm, power_mw, power_limit_mw
FROM ordered
WHERE taken_ms IS NULL OR taken_ms < placed_ms + dur_ms
