-- Which of the days [day_from, day_to) can look different because of minutes of the day after. Ticks are placed in true time by the
-- clock offsets of a day to either side, and a session of a bare host is one holding over midnight; nothing else reaches back. So a
-- day is among them if
-- - a boot with ticks on it had ticks, from the day before to the day after, whose clock offsets lie more than a second apart: of any
--   two offsets that could be chosen, one would move a tick;
-- - a card was without a scheduler on it or on the day after.
-- grain: day. key: day. units: days since 1970-01-01
-- inputs: device_minute, device_span
-- parameters: day_from INT, day_to INT
-- output: near_day
WITH told AS (
    SELECT boot_id, day, min(tick_ms - mono_ms) AS least_ms, max(tick_ms - mono_ms) AS most_ms
    FROM device_minute
    WHERE day >= CAST($day_from AS INT) - 1 AND day < CAST($day_to AS INT) + 1
    GROUP BY boot_id, day
),
stepped AS (
    SELECT d.day
    FROM told d
    JOIN told n ON n.boot_id = d.boot_id AND n.day >= d.day - 1 AND n.day <= d.day + 1
    GROUP BY d.boot_id, d.day
    HAVING max(n.most_ms) - min(n.least_ms) > 1000
),
bare AS (
    SELECT unnest(range(from_ms / 86400000 - 1, (to_ms - 1) / 86400000 + 1)) AS day FROM device_span WHERE scheduler = 'none'
)
SELECT day
FROM (SELECT day FROM stepped UNION SELECT CAST(day AS INT) FROM bare)
WHERE day >= CAST($day_from AS INT) AND day < CAST($day_to AS INT)
ORDER BY day
