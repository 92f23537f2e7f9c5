-- What pools really cost in a window, by kind. A row gives its part by time: the amount up to the end of the window less the amount up to
-- its start, each rounded half up to minor units, so that the parts of windows that adjoin add up to the row's amount.
-- grain: pool x kind. units: minor units of the currency
-- inputs: cost_pool
-- parameters: from_ms BIGINT, to_ms BIGINT, minor_micros BIGINT
-- output: cost_part
WITH cut AS (
    SELECT pool, kind, CAST(amount_micros AS DECIMAL(20, 0)) AS amount,
        CAST(to_ms - from_ms AS DECIMAL(16, 0)) * CAST(CAST($minor_micros AS BIGINT) AS DECIMAL(8, 0)) AS per_unit,
        CAST(CASE WHEN from_ms > CAST($from_ms AS BIGINT) THEN from_ms ELSE CAST($from_ms AS BIGINT) END - from_ms AS DECIMAL(16, 0)) AS a,
        CAST(CASE WHEN to_ms < CAST($to_ms AS BIGINT) THEN to_ms ELSE CAST($to_ms AS BIGINT) END - from_ms AS DECIMAL(16, 0)) AS b
    FROM cost_pool
    WHERE from_ms < CAST($to_ms AS BIGINT) AND to_ms > CAST($from_ms AS BIGINT)
),
doubled AS (
    SELECT pool, kind, per_unit * 2 AS twice, amount * a * 2 + per_unit AS upto_a, amount * b * 2 + per_unit AS upto_b
    FROM cut
)
SELECT pool, kind,
    CAST(sum((upto_b - upto_b % twice) / twice - (upto_a - upto_a % twice) / twice) AS DECIMAL(38, 0)) AS cost
FROM doubled
GROUP BY pool, kind
