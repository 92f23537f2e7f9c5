-- What was measured of one run, as it was written: process rows of its hint that touch it, and samples of a session.
-- grain: device x process x tick, or sample. units: epoch ms, ms, ppm, bytes
-- inputs: process_minute, allocation, run, device, sample
-- parameters: holder BIGINT, from_day INT, to_day INT
-- output: minutes
WITH hints AS (
    SELECT DISTINCT hint_id FROM allocation WHERE allocation_id = CAST($holder AS BIGINT)
    UNION SELECT CAST($holder AS BIGINT)
),
own AS (
    SELECT kind, cluster, job_raw, "user", start_ms, end_ms FROM run WHERE holder = CAST($holder AS BIGINT)
),
named AS (
    SELECT device_id, min(uuid) AS uuid FROM device GROUP BY device_id
)
SELECT coalesce(n.uuid, CAST(p.device_id AS VARCHAR)) AS device, p.tick_ms, p.seq, p.pid, p."user", p.evidence, p.busy_ms,
    p.covered_ms, p.sm_ppm, p.dram_ppm, p.tensor_ppm, p.mem_peak_bytes
FROM process_minute p
JOIN hints h ON h.hint_id = p.hint_id
JOIN own s ON p.tick_ms < s.end_ms AND p.tick_ms + p.covered_ms > s.start_ms
LEFT JOIN named n ON n.device_id = p.device_id
WHERE p.day >= CAST($from_day AS INT) AND p.day <= CAST($to_day AS INT)
UNION ALL
SELECT m.node || ' mask ' || CAST(m.gpu_mask AS VARCHAR), m.stamp_ms, NULL, NULL, m."user", 'sample', NULL, NULL, m.gpu_ppm, NULL,
    NULL, m.gpu_mem_bytes
FROM sample m
JOIN own s ON s.kind = 'session' AND s.cluster = m.cluster AND s.job_raw = m.node || ':' || m.job AND s."user" = m."user"
ORDER BY device, tick_ms, pid
