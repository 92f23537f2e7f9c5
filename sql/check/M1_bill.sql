-- M1 of a bill, in exact money: every charge and every line is its quantity x its price; charges add up to their lines, in time and in
-- money; lines add up to what was held, and to what the whole fleet cost; and of each pool and class the platform gave up exactly what
-- teams took over. Rounded lines are checked by M1.
-- grain: violation. units: ms, exact money
-- inputs: bill_line, bill_charge, charge, tariff
-- parameters: none
-- output: violation
WITH rated AS (
    SELECT * FROM bill_line WHERE kind NOT IN ('credit', 'adjustment', 'correction', 'rounding')
),
charged AS (
    SELECT line_id, CAST(sum(quantity_ms) AS BIGINT) AS quantity_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
        CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
        CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms, CAST(sum(exact) AS DECIMAL(38, 0)) AS exact
    FROM bill_charge
    GROUP BY line_id
),
fleet AS (
    SELECT CAST(coalesce(sum(c.busy_ms), 0) AS BIGINT) AS busy_ms, CAST(coalesce(sum(c.held_idle_ms), 0) AS BIGINT) AS held_idle_ms,
        CAST(coalesce(sum(c.held_unmeasured_ms), 0) AS BIGINT) AS held_unmeasured_ms,
        CAST(coalesce(sum(CAST(c.held_ms AS DECIMAL(38, 0)) * CAST(coalesce(t.price_micros, 0) AS DECIMAL(20, 0))
            + CAST(c.unallocated_ms + c.unavailable_ms + c.unobserved_ms AS DECIMAL(38, 0))
                * CAST(coalesce(t.list_price_micros, 0) AS DECIMAL(20, 0))), 0) AS DECIMAL(38, 0)) AS exact
    FROM tariff t
    JOIN charge c ON c.tariff_no = t.tariff_no
),
billed AS (
    SELECT CAST(coalesce(sum(busy_ms), 0) AS BIGINT) AS busy_ms, CAST(coalesce(sum(held_idle_ms), 0) AS BIGINT) AS held_idle_ms,
        CAST(coalesce(sum(held_unmeasured_ms), 0) AS BIGINT) AS held_unmeasured_ms,
        CAST(coalesce(sum(exact), 0) AS DECIMAL(38, 0)) AS exact
    FROM rated
),
given AS (
    SELECT pool, CASE kind WHEN 'shared_out' THEN reason WHEN 'shared_unallocated' THEN 'unallocated'
        WHEN 'shared_unavailable' THEN 'unavailable' ELSE 'unobserved' END AS class, quantity_ms, exact
    FROM rated
    WHERE kind IN ('shared_out', 'shared_unallocated', 'shared_unavailable', 'shared_unobserved')
)
SELECT 'line is not quantity x price' AS what, CAST(line_id AS VARCHAR) AS place, CAST(exact AS VARCHAR) AS found
FROM rated
WHERE exact <> CAST(quantity_ms AS DECIMAL(38, 0)) * CAST(coalesce(price_micros, 0) AS DECIMAL(20, 0))
UNION ALL
SELECT 'charge is not quantity x price', CAST(c.line_id AS VARCHAR), CAST(c.exact AS VARCHAR)
FROM rated l
JOIN bill_charge c ON c.line_id = l.line_id
WHERE c.exact <> CAST(c.quantity_ms AS DECIMAL(38, 0)) * CAST(coalesce(l.price_micros, 0) AS DECIMAL(20, 0))
UNION ALL
SELECT 'charges are not their line', CAST(coalesce(l.line_id, c.line_id) AS VARCHAR), CAST(c.exact AS VARCHAR)
FROM rated l
FULL JOIN charged c ON c.line_id = l.line_id
WHERE l.line_id IS NULL OR c.line_id IS NULL OR l.quantity_ms <> c.quantity_ms OR l.held_ms <> c.held_ms OR l.busy_ms <> c.busy_ms
    OR l.held_idle_ms <> c.held_idle_ms OR l.held_unmeasured_ms <> c.held_unmeasured_ms OR l.exact <> c.exact
UNION ALL
SELECT 'lines are not what was held, or not what the fleet cost', 'all', CAST(b.exact - f.exact AS VARCHAR)
FROM fleet f
CROSS JOIN billed b
WHERE f.busy_ms <> b.busy_ms OR f.held_idle_ms <> b.held_idle_ms OR f.held_unmeasured_ms <> b.held_unmeasured_ms OR f.exact <> b.exact
UNION ALL
SELECT 'teams took over other than the platform gave up', pool || '/' || class, CAST(sum(exact) AS VARCHAR)
FROM given
GROUP BY pool, class
HAVING sum(exact) <> 0 OR sum(quantity_ms) <> 0
ORDER BY what, place, found
