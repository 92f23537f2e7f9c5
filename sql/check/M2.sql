-- M2: what was billed for a closed period, in its close and in corrections since, is what a fresh computation over all that the
-- last close knew gives: exactly for every statement, and in minor units for the whole, rounded once.
-- grain: violation. units: exact money, minor units
-- inputs: fresh_line, closed_line
-- parameters: divisor BIGINT
-- output: violation
WITH sides AS (
    SELECT period, platform, team, cost_center, exact AS fresh, CAST(0 AS DECIMAL(38, 0)) AS billed, 0 AS billed_minor
    FROM fresh_line
    UNION ALL
    SELECT coalesce(corrects, period), platform, team, cost_center, CAST(0 AS DECIMAL(38, 0)), exact, amount_minor
    FROM closed_line
),
statement AS (
    SELECT period, platform, team, cost_center, CAST(sum(fresh) AS DECIMAL(38, 0)) AS fresh,
        CAST(sum(billed) AS DECIMAL(38, 0)) AS billed, CAST(sum(billed_minor) AS BIGINT) AS billed_minor
    FROM sides
    GROUP BY period, platform, team, cost_center
),
whole AS (
    SELECT period, CAST(sum(fresh) AS DECIMAL(38, 0)) AS fresh, CAST(sum(billed) AS DECIMAL(38, 0)) AS billed,
        CAST(sum(billed_minor) AS BIGINT) AS billed_minor
    FROM sides
    GROUP BY period
)
SELECT 'statement' AS what, period, team, cost_center, fresh, billed, billed_minor
FROM statement
WHERE fresh <> billed
UNION ALL
SELECT 'total', period, NULL, NULL, fresh, billed, billed_minor
FROM whole
-- rounded half up: the minor units x divisor lie in (fresh - divisor/2, fresh + divisor/2]
WHERE 2 * (CAST(billed_minor AS DECIMAL(38, 0)) * CAST($divisor AS BIGINT) - fresh) > CAST($divisor AS BIGINT)
    OR 2 * (CAST(billed_minor AS DECIMAL(38, 0)) * CAST($divisor AS BIGINT) - fresh) <= -CAST($divisor AS BIGINT)
ORDER BY period, what, team, cost_center
