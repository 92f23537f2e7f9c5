-- The newest trusted difference between wall clock and boot-time clock for each day of a boot, a day to either side:
-- of the newest tick for which the kernel said the clock was synchronised; without any, of the newest tick. By day, so
-- that it does not depend on which days are built together.
-- From `near_day` on of every boot; before that, where only failures are looked back for, as sick devices tell it.
-- grain: boot x day. key: boot_id, day. units: ms
-- inputs: device_minute, sick
-- parameters: day_from INT, near_day INT, day_to INT
-- output: boot_offset
WITH told AS (
    SELECT boot_id, day, seq, synchronised, tick_ms - mono_ms AS offset_ms
    FROM device_minute
    WHERE day >= CAST($near_day AS INT) AND day < CAST($day_to AS INT)
    UNION ALL
    SELECT m.boot_id, m.day, m.seq, m.synchronised, m.tick_ms - m.mono_ms
    FROM device_minute m
    JOIN sick s ON s.device_id = m.device_id
    WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($near_day AS INT)
),
said AS (
    -- the devices of a node say the same of a tick
    SELECT boot_id, day, seq, synchronised, max(offset_ms) AS offset_ms
    FROM told
    GROUP BY boot_id, day, seq, synchronised
),
last_of_day AS (
    SELECT boot_id, day, synchronised, max(seq) AS seq FROM said GROUP BY boot_id, day, synchronised
),
newest AS (
    SELECT l.boot_id, l.day, l.synchronised, l.seq, s.offset_ms
    FROM last_of_day l
    JOIN said s ON s.boot_id = l.boot_id AND s.day = l.day AND s.synchronised = l.synchronised AND s.seq = l.seq
),
ranked AS (
    SELECT d.boot_id, d.day, n.offset_ms,
        row_number() OVER (PARTITION BY d.boot_id, d.day ORDER BY n.synchronised DESC, n.seq DESC, n.offset_ms DESC) AS place
    FROM (SELECT DISTINCT boot_id, day FROM newest) d
    JOIN newest n ON n.boot_id = d.boot_id AND n.day >= d.day - 1 AND n.day <= d.day + 1
)
SELECT boot_id, day, offset_ms FROM ranked WHERE place = 1
