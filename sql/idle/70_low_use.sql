-- Runs that worked so little over the last day that their owner is asked: mean SM activity under the policy's threshold, weighed by
-- time, over ticks of a day of which 90 % has it on every card. Runs younger than a day are not judged.
-- grain: run. key: holder. units: ppm, ms
-- inputs: idle_subject, idle_tick
-- parameters: at_ms BIGINT
-- output: idle_low_use
WITH day AS (
    SELECT s.holder, s.low_use_ppm, s.gpu_count, t.device_id,
        CAST(sum(t.sm_ppm * (t.to_ms - t.from_ms)) AS BIGINT) AS work,
        CAST(sum(CASE WHEN t.sm_ppm IS NULL THEN 0 ELSE t.to_ms - t.from_ms END) AS BIGINT) AS known_ms
    FROM idle_subject s
    JOIN idle_tick t ON t.holder = s.holder
    WHERE s.start_ms <= CAST($at_ms AS BIGINT) - 86400000 AND t.from_ms >= CAST($at_ms AS BIGINT) - 86400000
        AND t.to_ms <= CAST($at_ms AS BIGINT)
    GROUP BY s.holder, s.low_use_ppm, s.gpu_count, t.device_id
)
SELECT holder, CAST(sum(work / 1000) * 1000 / sum(known_ms) AS BIGINT) AS mean_ppm, min(known_ms) AS known_ms
FROM day
GROUP BY holder, low_use_ppm, gpu_count
HAVING count(*) >= gpu_count AND min(known_ms) >= 77760000
    AND CAST(sum(work / 1000) * 1000 / sum(known_ms) AS BIGINT) < low_use_ppm
