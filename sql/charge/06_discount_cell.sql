-- In which cells each discount is open, of those that are not open all week: by day of the week and minute of the local day,
-- as the calendar has them (a doubled hour is in the window twice, a skipped one never). A window that ends at or before its
-- first minute goes on into the next day, and belongs to the day on which it began. Monday is 1, and bit 1 of the mask.
-- grain: cell x discount. key: cell, discount_id
-- inputs: calendar, discount
-- parameters: none
-- output: discount_cell
WITH local AS (
    SELECT cell, CAST(weekday AS BIGINT) AS today, (CAST(weekday AS BIGINT) + 5) % 7 + 1 AS yesterday,
        CAST(hour AS BIGINT) * 60 + (cell * 900000 - hour_start_ms) / 60000 AS minute
    FROM calendar
),
placed AS (
    SELECT c.cell, d.discount_id, d.from_minute, d.to_minute, c.minute,
        (d.day_mask >> (c.today - 1)) % 2 = 1 AS on_today, (d.day_mask >> (c.yesterday - 1)) % 2 = 1 AS on_yesterday
    FROM local c
    CROSS JOIN discount d
    WHERE NOT (d.day_mask = 127 AND (d.from_minute = d.to_minute OR (d.from_minute = 0 AND d.to_minute = 1440)))
)
SELECT DISTINCT cell, discount_id
FROM placed
WHERE CASE WHEN from_minute < to_minute THEN on_today AND minute >= from_minute AND minute < to_minute
    ELSE (on_today AND minute >= from_minute) OR (on_yesterday AND minute < to_minute) END
