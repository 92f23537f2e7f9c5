-- Whether a window has usage at all, and to which instant. Days are UTC days, so that only their files are read.
-- grain: one row. units: epoch ms
-- inputs: usage
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: any_usage
SELECT count(*) AS n, max(to_ms) AS to_ms
FROM usage
WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
    AND to_ms > CAST($from_ms AS BIGINT) AND from_ms < CAST($to_ms AS BIGINT)
