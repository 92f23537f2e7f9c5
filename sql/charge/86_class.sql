-- The six classes of the whole fleet in the window, and what of held time has no price.
-- grain: one row. units: ms
-- inputs: charge, tariff
-- parameters: none
-- output: class
SELECT CAST(coalesce(sum(c.busy_ms), 0) AS BIGINT) AS busy_ms, CAST(coalesce(sum(c.held_idle_ms), 0) AS BIGINT) AS held_idle_ms,
    CAST(coalesce(sum(c.held_unmeasured_ms), 0) AS BIGINT) AS held_unmeasured_ms,
    CAST(coalesce(sum(c.unallocated_ms), 0) AS BIGINT) AS unallocated_ms,
    CAST(coalesce(sum(c.unavailable_ms), 0) AS BIGINT) AS unavailable_ms,
    CAST(coalesce(sum(c.unobserved_ms), 0) AS BIGINT) AS unobserved_ms,
    CAST(coalesce(sum(CASE WHEN t.price_micros IS NULL THEN c.held_ms ELSE 0 END), 0) AS BIGINT) AS unpriced_ms
FROM tariff t
JOIN charge c ON c.tariff_no = t.tariff_no
