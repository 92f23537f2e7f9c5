-- UTC days with usage, and how many rows each has.
-- grain: UTC day. key: day. units: days since 1970-01-01
-- inputs: usage
-- parameters: none
-- output: day_rows
SELECT CAST(day AS BIGINT) AS day, count(*) AS n FROM usage GROUP BY day ORDER BY day
