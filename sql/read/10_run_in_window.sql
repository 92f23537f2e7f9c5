-- Runs that touch a window, under the name by which owner rows are looked up.
-- grain: holder
-- inputs: run
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: present
SELECT holder
FROM run
WHERE kind = 'scheduler' AND start_ms < CAST($to_ms AS BIGINT) AND end_ms >= CAST($from_ms AS BIGINT)
