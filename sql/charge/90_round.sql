-- Rounding, once: the total of each measure is rounded half up to the minor unit and handed down to its lines by largest
-- remainder, ties by line. `divisor` turns exact money into minor units. Floor is (a - a % b) / b with the remainder
-- brought to 0 or more, also for negative amounts.
-- grain: measure x line. key: measure, line. units: minor units
-- inputs: exact
-- parameters: divisor BIGINT
-- output: rounded
WITH part AS (
    SELECT measure, line, amount,
        CASE WHEN amount % CAST($divisor AS BIGINT) < 0 THEN amount % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)
            ELSE amount % CAST($divisor AS BIGINT) END AS r
    FROM exact
),
floored AS (
    SELECT measure, line, r, CAST((amount - r) / CAST($divisor AS BIGINT) AS DECIMAL(38, 0)) AS units FROM part
),
total AS (
    -- what flooring left, in whole units, with half a unit added: the sum of remainders rounded half up
    SELECT measure, CAST((sum(r) + CAST($divisor AS BIGINT) / 2
        - (sum(r) + CAST($divisor AS BIGINT) / 2) % CAST($divisor AS BIGINT)) / CAST($divisor AS BIGINT) AS BIGINT) AS left_units
    FROM part
    GROUP BY measure
),
ranked AS (
    SELECT measure, line, units, row_number() OVER (PARTITION BY measure ORDER BY r DESC, line) AS place FROM floored
)
SELECT k.measure, k.line,
    CAST(k.units + CASE WHEN CAST(k.place AS BIGINT) <= t.left_units THEN 1 ELSE 0 END AS DECIMAL(38, 0)) AS minor_units
FROM ranked k
JOIN total t ON t.measure = k.measure
ORDER BY measure, line
