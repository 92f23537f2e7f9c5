-- The newest trusted difference between wall clock and boot-time clock for each day of a boot, a day to either side:
-- of the newest tick for which the kernel said the clock was synchronised; without any, of the newest tick. By day, so
-- that it does not depend on which days are built together.
-- grain: boot x day. key: boot_id, day. units: ms
-- inputs: device_minute
-- parameters: day_from INT, day_to INT
-- output: boot_offset
WITH boot_day AS (
    SELECT boot_id, day, max(CASE WHEN synchronised THEN seq END) AS trusted_seq, max(seq) AS seq
    FROM device_minute
    WHERE day >= CAST($day_from AS INT) AND day < CAST($day_to AS INT)
    GROUP BY boot_id, day
),
newest AS (
    SELECT d.boot_id, d.day, coalesce(max(n.trusted_seq), max(n.seq)) AS seq
    FROM boot_day d
    JOIN boot_day n ON n.boot_id = d.boot_id AND n.day >= d.day - 1 AND n.day <= d.day + 1
    GROUP BY d.boot_id, d.day
)
SELECT m.boot_id, n.day, max(m.tick_ms - m.mono_ms) AS offset_ms
FROM device_minute m
JOIN newest n ON n.boot_id = m.boot_id AND n.seq = m.seq
WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT)
GROUP BY m.boot_id, n.day
