-- Local days of the window with their first and last instant.
-- grain: local day. key: day. units: epoch ms
-- inputs: calendar
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: calendar_day
SELECT day, month,
    CASE WHEN min(cell) * 900000 > CAST($from_ms AS BIGINT) THEN min(cell) * 900000 ELSE CAST($from_ms AS BIGINT) END AS from_ms,
    CASE WHEN (max(cell) + 1) * 900000 < CAST($to_ms AS BIGINT) THEN (max(cell) + 1) * 900000 ELSE CAST($to_ms AS BIGINT) END AS to_ms
FROM calendar
GROUP BY day, month
ORDER BY day
