-- First and last UTC day with usage.
-- grain: one row. units: days since 1970-01-01
-- inputs: usage
-- parameters: none
-- output: usage_days
SELECT min(day) AS first_day, max(day) AS last_day FROM usage
