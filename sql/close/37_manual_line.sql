-- Manual lines of a period as lines of its bill: an amount in whole minor units, with no time and no price behind it. One that was
-- withdrawn is none; one in another currency is none either, and stops a close.
-- grain: manual line. units: exact money, minor units
-- inputs: manual_line
-- parameters: period VARCHAR, currency VARCHAR, divisor BIGINT
-- output: manual
WITH amount AS (
    SELECT line, kind, team, cost_center, currency, reason, approver, CAST(amount_micros AS DECIMAL(38, 0)) * 3600000 AS exact
    FROM manual_line
    WHERE period = CAST($period AS VARCHAR) AND currency = CAST($currency AS VARCHAR) AND to_ms IS NULL
)
SELECT line, kind, team, cost_center, currency, reason, approver, CAST(exact AS DECIMAL(38, 0)) AS exact,
    CAST((exact - exact % CAST($divisor AS BIGINT)) / CAST($divisor AS BIGINT) AS BIGINT) AS amount_minor
FROM amount
ORDER BY line
