-- bounds: prices lie within what keeps exact sums from wrapping (sums in the engine wrap silently).
-- grain: violation: a rate
-- inputs: rate
-- parameters: none
-- output: violation
SELECT 'rate' AS what, rate_id AS id, price_micros AS value
FROM rate
WHERE price_micros < 0 OR price_micros > 1000000000000
ORDER BY id
