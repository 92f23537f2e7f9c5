-- L3: no device is held longer than the local day's length by the calendar.
-- grain: violation. units: ms
-- inputs: charge, unit, calendar
-- parameters: none
-- output: violation
WITH day_length AS (
    SELECT day, max(day_ms) AS day_ms FROM calendar GROUP BY day
)
SELECT u.uuid AS device, c.local_day AS day, CAST(sum(c.held_ms) AS BIGINT) AS held_ms, max(d.day_ms) AS day_ms
FROM charge c
JOIN unit u ON u.unit_id = c.unit_id AND u.kind = 'device'
JOIN day_length d ON d.day = c.local_day
GROUP BY u.uuid, c.local_day
HAVING sum(c.held_ms) > max(d.day_ms)
ORDER BY device, day
