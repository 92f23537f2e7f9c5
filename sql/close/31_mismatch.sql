-- Runs of a period whose records name other devices than those on which their processes ran (L4): which cards they held, and
-- what they cost, is in doubt.
-- grain: run
-- inputs: device_mismatch, run
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: close_mismatch
SELECT 'mismatch' AS kind, r.cluster || '/' || r.job_raw AS place, count(DISTINCT m.device_id) AS n
FROM device_mismatch m
JOIN run r ON r.holder = m.holder
WHERE m.first_tick_ms >= CAST($from_ms AS BIGINT) AND m.first_tick_ms < CAST($to_ms AS BIGINT)
GROUP BY r.cluster || '/' || r.job_raw
ORDER BY place
