-- L7: every device is in exactly one pool at any time.
-- grain: violation. units: epoch ms
-- inputs: pool_span
-- parameters: none
-- output: violation
SELECT replace(pool_key, chr(31), '/') AS place, from_ms, to_ms, pools
FROM pool_span
WHERE pools > 1
ORDER BY place, from_ms
