-- Lines of the period for M1: exact money by team and local month.
-- grain: measure x line. key: measure, line. units: exact money
-- inputs: fact
-- parameters: none
-- output: exact
WITH line_of AS (
    SELECT team, month, coalesce(sum(billed_cost), 0) AS billed_cost, coalesce(sum(waste_cost), 0) AS waste_cost
    FROM fact
    GROUP BY team, month
),
numbered AS (
    SELECT *, CAST(row_number() OVER (ORDER BY month, team) AS BIGINT) AS line FROM line_of
)
SELECT 'charge' AS measure, line, CAST(billed_cost AS DECIMAL(38, 0)) AS amount FROM numbered
UNION ALL
SELECT 'waste', line, CAST(waste_cost AS DECIMAL(38, 0)) FROM numbered
