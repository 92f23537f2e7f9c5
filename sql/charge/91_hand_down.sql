-- Rounding under a given total: minor units that flooring leaves over go to the largest remainders, ties by line, until
-- the total of the measure is reached.
-- grain: measure x line. key: measure, line. units: minor units
-- inputs: exact, target
-- parameters: divisor BIGINT
-- output: handed
WITH part AS (
    SELECT measure, line, amount,
        CASE WHEN amount % CAST($divisor AS BIGINT) < 0 THEN amount % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)
            ELSE amount % CAST($divisor AS BIGINT) END AS r
    FROM exact
),
floored AS (
    SELECT measure, line, r, CAST((amount - r) / CAST($divisor AS BIGINT) AS DECIMAL(38, 0)) AS units,
        row_number() OVER (PARTITION BY measure ORDER BY r DESC, line) AS place
    FROM part
),
left_over AS (
    SELECT f.measure, CAST(max(t.minor_units) - sum(f.units) AS BIGINT) AS left_units
    FROM floored f
    JOIN target t ON t.measure = f.measure
    GROUP BY f.measure
)
SELECT f.measure, f.line,
    CAST(f.units + CASE WHEN CAST(f.place AS BIGINT) <= l.left_units THEN 1 ELSE 0 END AS DECIMAL(38, 0)) AS minor_units
FROM floored f
JOIN left_over l ON l.measure = f.measure
ORDER BY measure, line
