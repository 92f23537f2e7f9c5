-- L6: nothing is in the lake twice: no tick, process row, sample or reading of a run.
-- grain: violation
-- inputs: device_minute, process_minute, sample, allocation, job
-- parameters: none
-- output: violation
SELECT 'device_minute' AS "table", device_id AS id, seq AS part, count(*) AS rows FROM device_minute
GROUP BY device_id, boot_id, seq HAVING count(*) > 1
UNION ALL
SELECT 'process_minute', device_id, seq, count(*) FROM process_minute
GROUP BY device_id, boot_id, seq, pid, start_ticks HAVING count(*) > 1
UNION ALL
SELECT 'sample', sample_id, 0, count(*) FROM sample GROUP BY sample_id HAVING count(*) > 1
UNION ALL
SELECT 'allocation', allocation_id, as_of_ms, count(*) FROM allocation
GROUP BY allocation_id, as_of_ms, terminal HAVING count(*) > 1
UNION ALL
SELECT 'job', job_id, as_of_ms, count(*) FROM job GROUP BY job_id, as_of_ms HAVING count(*) > 1
ORDER BY "table", id, part
