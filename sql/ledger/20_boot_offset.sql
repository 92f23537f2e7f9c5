-- The newest trusted difference between wall clock and boot-time clock of each boot: of the newest tick for which
-- the kernel said the clock was synchronised; without any, of the newest tick.
-- grain: boot. key: boot_id. units: ms
-- inputs: device_minute
-- parameters: day_from INT, day_to INT
-- output: boot_offset
WITH newest AS (
    SELECT boot_id, coalesce(max(CASE WHEN synchronised THEN seq END), max(seq)) AS seq
    FROM device_minute
    WHERE day >= CAST($day_from AS INT) AND day < CAST($day_to AS INT)
    GROUP BY boot_id
)
SELECT m.boot_id, max(m.tick_ms - m.mono_ms) AS offset_ms
FROM device_minute m
JOIN newest n ON n.boot_id = m.boot_id AND n.seq = m.seq
WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT)
GROUP BY m.boot_id
