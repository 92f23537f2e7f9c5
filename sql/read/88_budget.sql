-- Budgets: what was spent of them up to the instant, and what would be at their end. An estimate: `run rate` is what was spent x the whole
-- time / the time that passed; `low` and `high` are what was spent and the rest of the time at the 10th and the 90th percentile of
-- a day, unknown before three whole days have passed. Money is rounded once, half away from zero; a part of a budget is what was
-- spent / the budget, floored to a millionth.
-- grain: team. units: minor units of the currency, ms, ppm
-- inputs: budget_now, budget_day, budget_spread
-- parameters: at_ms BIGINT, divisor BIGINT, minor_micros BIGINT
-- output: budget_state
WITH spent AS (
    SELECT team, from_ms, CAST(sum(exact) AS DECIMAL(38, 0)) AS exact, CAST(sum(held_ms) AS BIGINT) AS held_ms
    FROM budget_day
    GROUP BY team, from_ms
),
timed AS (
    SELECT b.team, b.amount_micros, b.gpu_hours, b.alert_at, b.from_ms, b.to_ms,
        CAST(coalesce(s.exact, 0) AS DECIMAL(38, 0)) AS exact, CAST(coalesce(s.held_ms, 0) AS DECIMAL(38, 0)) AS held_ms,
        CAST(b.to_ms - b.from_ms AS DECIMAL(20, 0)) AS all_ms,
        CAST(CAST($at_ms AS BIGINT) - b.from_ms AS DECIMAL(20, 0)) AS passed_ms,
        CAST(b.to_ms - CAST($at_ms AS BIGINT) AS DECIMAL(20, 0)) AS left_ms,
        CASE WHEN p.days >= 3 THEN p.exact_low END AS exact_low, CASE WHEN p.days >= 3 THEN p.exact_high END AS exact_high,
        CASE WHEN p.days >= 3 THEN CAST(p.held_low_ms AS DECIMAL(38, 0)) END AS held_low_ms,
        CASE WHEN p.days >= 3 THEN CAST(p.held_high_ms AS DECIMAL(38, 0)) END AS held_high_ms
    FROM budget_now b
    LEFT JOIN spent s ON s.team = b.team AND s.from_ms = b.from_ms
    LEFT JOIN budget_spread p ON p.team = b.team AND p.from_ms = b.from_ms
),
foreseen AS (
    SELECT *,
        CASE WHEN passed_ms > 0 THEN (exact - exact % passed_ms) / passed_ms * all_ms + (exact % passed_ms) * all_ms / passed_ms END
            AS exact_rate,
        CASE WHEN passed_ms > 0 THEN (held_ms * all_ms - held_ms * all_ms % passed_ms) / passed_ms END AS held_rate_ms,
        exact + (exact_low - exact_low % 86400000) / 86400000 * left_ms AS exact_low_end,
        exact + (exact_high - exact_high % 86400000) / 86400000 * left_ms AS exact_high_end,
        held_ms + (held_low_ms * left_ms - held_low_ms * left_ms % 86400000) / 86400000 AS held_low_end_ms,
        held_ms + (held_high_ms * left_ms - held_high_ms * left_ms % 86400000) / 86400000 AS held_high_end_ms
    FROM timed
),
signed AS (
    SELECT team, alert_at, from_ms, to_ms, held_ms, held_rate_ms, held_low_end_ms, held_high_end_ms, exact,
        CAST(exact_rate AS DECIMAL(38, 0)) AS exact_rate, CAST(exact_low_end AS DECIMAL(38, 0)) AS exact_low_end,
        CAST(exact_high_end AS DECIMAL(38, 0)) AS exact_high_end,
        amount_micros, gpu_hours, CAST(CAST($divisor AS BIGINT) AS DECIMAL(20, 0)) AS d
    FROM foreseen
),
doubled AS (
    SELECT *, abs(exact) * 2 + d AS spent_2, abs(exact_rate) * 2 + d AS rate_2, abs(exact_low_end) * 2 + d AS low_2,
        abs(exact_high_end) * 2 + d AS high_2
    FROM signed
)
SELECT team, alert_at, from_ms, to_ms,
    CAST(amount_micros / CAST($minor_micros AS BIGINT) AS BIGINT) AS budget,
    CAST(CASE WHEN exact < 0 THEN -1 ELSE 1 END * ((spent_2 - spent_2 % (d * 2)) / (d * 2)) AS DECIMAL(38, 0)) AS spent,
    CAST(CASE WHEN amount_micros > 0 THEN (exact * 1000000 - exact * 1000000 % (CAST(amount_micros AS DECIMAL(20, 0)) * 3600000))
        / (CAST(amount_micros AS DECIMAL(20, 0)) * 3600000) END AS BIGINT) AS used_ppm,
    CAST(CASE WHEN exact_rate < 0 THEN -1 ELSE 1 END * ((rate_2 - rate_2 % (d * 2)) / (d * 2)) AS DECIMAL(38, 0)) AS run_rate,
    CAST(CASE WHEN exact_low_end < 0 THEN -1 ELSE 1 END * ((low_2 - low_2 % (d * 2)) / (d * 2)) AS DECIMAL(38, 0)) AS low,
    CAST(CASE WHEN exact_high_end < 0 THEN -1 ELSE 1 END * ((high_2 - high_2 % (d * 2)) / (d * 2)) AS DECIMAL(38, 0)) AS high,
    CAST(gpu_hours * 3600000 AS BIGINT) AS budget_ms, CAST(held_ms AS BIGINT) AS held_ms,
    CAST(CASE WHEN gpu_hours > 0 THEN (held_ms * 1000000 - held_ms * 1000000 % (CAST(gpu_hours AS DECIMAL(20, 0)) * 3600000))
        / (CAST(gpu_hours AS DECIMAL(20, 0)) * 3600000) END AS BIGINT) AS held_of_budget_ppm,
    CAST(held_rate_ms AS BIGINT) AS run_rate_ms, CAST(held_low_end_ms AS BIGINT) AS low_ms, CAST(held_high_end_ms AS BIGINT) AS high_ms
FROM doubled
ORDER BY team
