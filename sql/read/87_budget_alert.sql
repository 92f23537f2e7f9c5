-- Percents of budgets that were reached, each with the first local day at whose end it was; money and GPU-hours apart.
-- grain: team x measure x percent. units: percent, local day YYYYMMDD
-- inputs: budget_now, budget_day
-- parameters: none
-- output: budget_alert
WITH percents AS (
    SELECT team, from_ms, amount_micros, gpu_hours, CAST(unnest(string_to_array(alert_at, ',')) AS BIGINT) AS percent
    FROM budget_now
),
reached AS (
    SELECT p.team, p.from_ms, 'money' AS measure, p.percent, min(d.day) AS day
    FROM percents p
    JOIN budget_day d ON d.team = p.team AND d.from_ms = p.from_ms
    WHERE d.exact_so_far * 100 >= CAST(p.amount_micros AS DECIMAL(20, 0)) * 3600000 * p.percent
    GROUP BY p.team, p.from_ms, p.percent
    UNION ALL
    SELECT p.team, p.from_ms, 'hours', p.percent, min(d.day)
    FROM percents p
    JOIN budget_day d ON d.team = p.team AND d.from_ms = p.from_ms
    WHERE CAST(d.held_so_far_ms AS DECIMAL(38, 0)) * 100 >= CAST(p.gpu_hours AS DECIMAL(20, 0)) * 3600000 * p.percent
    GROUP BY p.team, p.from_ms, p.percent
)
SELECT team, from_ms, measure, percent, day FROM reached
