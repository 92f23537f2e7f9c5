-- Whole milliseconds that flooring leaves over in a (device, cell) go to the largest remainders; ties by class, holder,
-- from. Only parts with a remainder appear.
-- grain: device x cell x holder x interval. units: ms. invariants: L1
-- inputs: part
-- parameters: none
-- output: extra
WITH fraction AS (
    SELECT device_id, cell, holder, from_ms, 1 AS class, n1 % 72072000 AS r FROM part WHERE n1 % 72072000 > 0
    UNION ALL SELECT device_id, cell, holder, from_ms, 2, n2 % 72072000 FROM part WHERE n2 % 72072000 > 0
    UNION ALL SELECT device_id, cell, holder, from_ms, 3, n3 % 72072000 FROM part WHERE n3 % 72072000 > 0
    UNION ALL SELECT device_id, cell, holder, from_ms, 4, n4 % 72072000 FROM part WHERE n4 % 72072000 > 0
    UNION ALL SELECT device_id, cell, holder, from_ms, 5, n5 % 72072000 FROM part WHERE n5 % 72072000 > 0
),
ranked AS (
    SELECT *,
        sum(r) OVER (PARTITION BY device_id, cell) / 72072000 AS left_ms,
        row_number() OVER (PARTITION BY device_id, cell ORDER BY r DESC, class, holder, from_ms) AS place
    FROM fraction
)
SELECT device_id, cell, holder, from_ms,
    CAST(sum(CASE WHEN class = 1 THEN 1 ELSE 0 END) AS BIGINT) AS x1,
    CAST(sum(CASE WHEN class = 2 THEN 1 ELSE 0 END) AS BIGINT) AS x2,
    CAST(sum(CASE WHEN class = 3 THEN 1 ELSE 0 END) AS BIGINT) AS x3,
    CAST(sum(CASE WHEN class = 4 THEN 1 ELSE 0 END) AS BIGINT) AS x4,
    CAST(sum(CASE WHEN class = 5 THEN 1 ELSE 0 END) AS BIGINT) AS x5
FROM ranked
WHERE place <= left_ms
GROUP BY device_id, cell, holder, from_ms
