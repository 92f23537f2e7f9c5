-- M1: lines add up to the period's total, to the minor unit: the sum of the rounded lines is the rounded sum.
-- grain: violation. units: minor units
-- inputs: exact, rounded
-- parameters: divisor BIGINT
-- output: violation
WITH whole AS (
    SELECT measure, sum(amount) AS amount FROM exact GROUP BY measure
),
lines AS (
    SELECT measure, sum(minor_units) AS minor_units FROM rounded GROUP BY measure
)
SELECT w.measure, w.amount, l.minor_units
FROM whole w
LEFT JOIN lines l ON l.measure = w.measure
-- rounded half up: lines x divisor lies in (amount - divisor/2, amount + divisor/2]
WHERE l.minor_units IS NULL
    OR 2 * (l.minor_units * CAST($divisor AS BIGINT) - w.amount) > CAST($divisor AS BIGINT)
    OR 2 * (l.minor_units * CAST($divisor AS BIGINT) - w.amount) <= -CAST($divisor AS BIGINT)
ORDER BY measure
