-- Minutes of one run as they were written: process rows of its hint that touch it, and samples of a session.
-- grain: device x process x tick. units: epoch ms, ms, ppm, bytes
-- inputs: process_minute, allocation, run, device
-- parameters: holder BIGINT, from_day INT, to_day INT
-- output: minutes
WITH hints AS (
    SELECT DISTINCT hint_id FROM allocation WHERE allocation_id = CAST($holder AS BIGINT)
    UNION SELECT CAST($holder AS BIGINT)
),
span AS (
    SELECT start_ms, end_ms FROM run WHERE holder = CAST($holder AS BIGINT)
),
named AS (
    SELECT device_id, min(uuid) AS uuid FROM device GROUP BY device_id
)
SELECT coalesce(n.uuid, CAST(p.device_id AS VARCHAR)) AS device, p.tick_ms, p.seq, p.pid, p."user", p.evidence, p.busy_ms,
    p.covered_ms, p.sm_ppm, p.dram_ppm, p.tensor_ppm, p.mem_peak_bytes
FROM process_minute p
JOIN hints h ON h.hint_id = p.hint_id
JOIN span s ON p.tick_ms < s.end_ms AND p.tick_ms + p.covered_ms > s.start_ms
LEFT JOIN named n ON n.device_id = p.device_id
WHERE p.day >= CAST($from_day AS INT) AND p.day <= CAST($to_day AS INT)
ORDER BY device, p.tick_ms, p.pid
