-- Reserved time that nobody held: in each slice what teams leave of their quotas comes off what of the pool is nobody's,
-- unallocated first, then unavailable, then unobserved. What is left of it was lent: another team held it and pays for it.
-- grain: pool x local day. key: pool, local_day. units: ms
-- inputs: quota_slice, pool_slice, price_slot
-- parameters: none
-- output: reserve_free
WITH spare AS (
    SELECT pool, slice_ms, CAST(sum(spare_ms) AS BIGINT) AS spare_ms
    FROM quota_slice
    WHERE reserved AND spare_ms > 0
    GROUP BY pool, slice_ms
),
first AS (
    SELECT p.pool, p.slot_ms, s.spare_ms, p.unavailable_ms, p.unobserved_ms,
        CASE WHEN s.spare_ms < p.unallocated_ms THEN s.spare_ms ELSE p.unallocated_ms END AS unallocated
    FROM spare s
    JOIN pool_slice p ON p.pool = s.pool AND p.slice_ms = s.slice_ms
),
second AS (
    SELECT *, CASE WHEN spare_ms - unallocated < unavailable_ms THEN spare_ms - unallocated ELSE unavailable_ms END AS unavailable
    FROM first
),
third AS (
    SELECT *, CASE WHEN spare_ms - unallocated - unavailable < unobserved_ms THEN spare_ms - unallocated - unavailable
        ELSE unobserved_ms END AS unobserved
    FROM second
)
SELECT t.pool, s.day AS local_day, s.month AS local_month, CAST(sum(t.unallocated) AS BIGINT) AS unallocated_ms,
    CAST(sum(t.unavailable) AS BIGINT) AS unavailable_ms, CAST(sum(t.unobserved) AS BIGINT) AS unobserved_ms
FROM third t
JOIN price_slot s ON s.slot_ms = t.slot_ms
GROUP BY t.pool, s.day, s.month
