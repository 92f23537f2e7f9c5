-- First and last UTC day that can have usage: of devices, of capacity without a name, and of holdings.
-- grain: one row. units: days since 1970-01-01
-- inputs: device_span, spare, holding
-- parameters: none
-- output: days
WITH span AS (
    SELECT from_ms, to_ms FROM device_span
    UNION ALL SELECT from_ms, to_ms FROM spare
    UNION ALL SELECT from_ms, to_ms FROM holding
)
SELECT min(from_ms) / 86400000 AS first_day, (max(to_ms) - 1) / 86400000 AS last_day
FROM span
WHERE to_ms > from_ms
