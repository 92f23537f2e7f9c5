-- Cards whose memory is held although no process is on them: over 5 % in use in every healthy tick of the last fifteen minutes, and
-- no process row in any. What nobody measured is not listed.
-- grain: device. key: device_id. units: epoch ms, bytes
-- inputs: device_minute, tick, process_minute, device_span
-- parameters: at_ms BIGINT, day_from INT
-- output: idle_memory_held
WITH late AS (
    SELECT t.device_id, t.from_ms, t.to_ms, m.mem_used_bytes, m.mem_total_bytes, m.process_count
    FROM tick t
    JOIN device_minute m ON m.device_id = t.device_id AND m.boot_id = t.boot_id AND m.seq = t.seq
    WHERE t.healthy AND m.day >= CAST($day_from AS INT) AND t.to_ms > CAST($at_ms AS BIGINT) - 900000
        AND t.to_ms <= CAST($at_ms AS BIGINT)
        AND NOT EXISTS (
            SELECT 1 FROM process_minute p WHERE p.device_id = m.device_id AND p.boot_id = m.boot_id AND p.seq = m.seq
        )
),
empty AS (
    SELECT device_id, min(from_ms) AS first_ms, max(to_ms) AS newest_ms, min(mem_used_bytes) AS mem_used_bytes,
        max(mem_total_bytes) AS mem_total_bytes, count(*) AS ticks,
        count(CASE WHEN process_count = 0 AND mem_used_bytes * 20 > mem_total_bytes THEN 1 END) AS held_ticks
    FROM late
    GROUP BY device_id
)
SELECT e.device_id, d.node, e.first_ms, e.newest_ms, e.mem_used_bytes, e.mem_total_bytes
FROM empty e
JOIN device_span d ON d.device_id = e.device_id AND d.from_ms < e.newest_ms AND d.to_ms >= e.newest_ms
WHERE e.held_ticks = e.ticks AND e.ticks >= 10
