-- What a correction bills, in minor units. A statement (team and cost centre, or the platform) whose exact money changed gets
-- round(all that is known now) - what it was billed so far; one whose exact money did not change gets 0. That is handed down to
-- its changed keys by largest remainder, ties by key. What the fleet cost is rounded as a whole: the cents that the statements
-- leave of it are a row of their own, with no key: the platform's rounding. Rounding is half up, also below zero.
-- `divisor` turns exact money into minor units. Waste and list value are memos of a line, each rounded on its own.
-- grain: line_key, and one row without a key where cents are left. units: ms, exact money, minor units
-- inputs: change, keyed_line
-- parameters: divisor BIGINT
-- output: correction
WITH billed AS (
    SELECT statement_key,
        CAST(sum(CASE WHEN side > 0 THEN exact ELSE CAST(0 AS DECIMAL(38, 0)) END) AS DECIMAL(38, 0)) AS fresh_exact,
        CAST(sum(CASE WHEN side < 0 THEN exact ELSE CAST(0 AS DECIMAL(38, 0)) END) AS DECIMAL(38, 0)) AS billed_exact,
        CAST(sum(CASE WHEN side < 0 THEN amount_minor ELSE 0 END) AS BIGINT) AS billed_minor
    FROM keyed_line
    GROUP BY statement_key
),
part AS (
    SELECT *, (fresh_exact % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)) % CAST($divisor AS BIGINT) AS r FROM billed
),
target AS (
    SELECT statement_key,
        CASE WHEN fresh_exact = billed_exact THEN 0
            ELSE CAST((fresh_exact - r) / CAST($divisor AS BIGINT) AS BIGINT)
                + CASE WHEN 2 * r >= CAST($divisor AS BIGINT) THEN 1 ELSE 0 END - billed_minor END AS minor
    FROM part
),
fleet AS (
    SELECT CAST(sum(fresh_exact) AS DECIMAL(38, 0)) AS exact, CAST(sum(billed_minor) AS BIGINT) AS billed_minor,
        (CAST(sum(fresh_exact) AS DECIMAL(38, 0)) % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT))
            % CAST($divisor AS BIGINT) AS r
    FROM billed
    HAVING count(*) > 0
),
left_over AS (
    SELECT CAST((f.exact - f.r) / CAST($divisor AS BIGINT) AS BIGINT)
        + CASE WHEN 2 * f.r >= CAST($divisor AS BIGINT) THEN 1 ELSE 0 END - f.billed_minor - t.minor AS minor
    FROM fleet f
    CROSS JOIN (SELECT CAST(sum(minor) AS BIGINT) AS minor FROM target) t
),
floored AS (
    SELECT c.*, (c.exact % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)) % CAST($divisor AS BIGINT) AS r
    FROM change c
),
ranked AS (
    SELECT f.*, CAST((f.exact - f.r) / CAST($divisor AS BIGINT) AS BIGINT) AS units,
        CAST(row_number() OVER (PARTITION BY f.statement_key ORDER BY f.r DESC, f.line_key) AS BIGINT) AS place
    FROM floored f
),
short AS (
    -- what the floors leave of the target may be negative or more than one unit a line: then it goes round
    SELECT k.statement_key, CAST(count(*) AS BIGINT) AS keys, t.minor - CAST(sum(k.units) AS BIGINT) AS left_units
    FROM ranked k
    JOIN target t ON t.statement_key = k.statement_key
    GROUP BY k.statement_key, t.minor
),
memo AS (
    SELECT line_key, CAST(held_idle_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0)) AS waste,
        CAST(quantity_ms AS DECIMAL(38, 0)) * CAST(list_price_micros AS DECIMAL(20, 0)) AS list
    FROM change
),
memo_part AS (
    SELECT line_key, waste, (waste % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)) % CAST($divisor AS BIGINT) AS waste_r,
        list, (list % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)) % CAST($divisor AS BIGINT) AS list_r
    FROM memo
),
spread AS (
    SELECT statement_key, keys, left_units, (left_units - ((left_units % keys + keys) % keys)) / keys AS all_units,
        (left_units % keys + keys) % keys AS first_units
    FROM short
)
SELECT k.line_key, k.platform, k.team, k.cost_center, k.pool, k.tier, k.model, k.task_type, k.mode, k.rate_id,
    k.list_price_micros, k.price_micros, k.discount, k.quantity_ms, k.held_ms, k.busy_ms, k.held_idle_ms,
    k.held_unmeasured_ms, k.covered_ms, k.effective_ms, k.energy_mj, k.exact,
    k.units + e.all_units + CASE WHEN k.place <= e.first_units THEN 1 ELSE 0 END AS amount_minor,
    CAST((m.waste - m.waste_r) / CAST($divisor AS BIGINT) AS BIGINT)
        + CASE WHEN 2 * m.waste_r >= CAST($divisor AS BIGINT) THEN 1 ELSE 0 END AS waste_minor,
    CAST((m.list - m.list_r) / CAST($divisor AS BIGINT) AS BIGINT)
        + CASE WHEN 2 * m.list_r >= CAST($divisor AS BIGINT) THEN 1 ELSE 0 END AS list_minor
FROM ranked k
JOIN spread e ON e.statement_key = k.statement_key
JOIN memo_part m ON m.line_key = k.line_key
UNION ALL
SELECT NULL, true, '(platform)', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL,
    CAST(0 AS DECIMAL(38, 0)), minor, NULL, NULL
FROM left_over
WHERE minor <> 0
ORDER BY line_key NULLS LAST
