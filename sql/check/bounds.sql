-- bounds: prices and usage rows lie within what keeps exact sums from wrapping (sums in the engine wrap silently).
-- grain: violation
-- inputs: rate, usage, unit
-- parameters: none
-- output: violation
SELECT 'rate' AS what, rate_id AS id, price_micros AS value FROM rate WHERE price_micros < 0 OR price_micros > 1000000000000
UNION ALL
SELECT 'usage', g.unit_id, g.busy_ms + g.held_idle_ms + g.held_unmeasured_ms + g.unallocated_ms + g.unavailable_ms + g.unobserved_ms
FROM usage g
JOIN unit u ON u.unit_id = g.unit_id
WHERE u.kind = 'device'
    AND g.busy_ms + g.held_idle_ms + g.held_unmeasured_ms + g.unallocated_ms + g.unavailable_ms + g.unobserved_ms
        > 900000
ORDER BY what, id
