-- Budgets day by day, from their start to the instant: what was spent on each local day and up to its end. A manual line counts on
-- the day on which it was written, at the earliest the first and at the latest the last day of the month that it is booked in; one
-- that was withdrawn does not count. A day on which nothing was spent is a row of 0.
-- whole: the day lies between the budget's start and the instant.
-- grain: team x local day. units: epoch ms, exact money, ms
-- inputs: budget_now, calendar, team_day, manual_line
-- parameters: at_ms BIGINT
-- output: budget_day
WITH local_day AS (
    SELECT day, month, min(cell) * 900000 AS first_ms, (max(cell) + 1) * 900000 AS last_ms, max(day_ms) AS day_ms
    FROM calendar
    GROUP BY day, month
),
days AS (
    SELECT b.team, b.from_ms, b.to_ms, d.day, d.month,
        d.first_ms >= b.from_ms AND d.last_ms <= CAST($at_ms AS BIGINT) AND d.last_ms - d.first_ms = d.day_ms AS whole
    FROM budget_now b
    JOIN local_day d ON d.last_ms > b.from_ms AND d.first_ms < b.to_ms AND d.first_ms < CAST($at_ms AS BIGINT)
),
written AS (
    SELECT m.line, m.team, CAST(m.amount_micros AS DECIMAL(38, 0)) * CAST(3600000 AS DECIMAL(20, 0)) AS exact,
        coalesce(max(CASE WHEN d.first_ms <= m.from_ms THEN d.day END), min(d.day)) AS day
    FROM manual_line m
    JOIN local_day d ON d.month = CAST(replace(m.period, '-', '') AS INT)
    WHERE m.to_ms IS NULL
    GROUP BY m.line, m.team, m.amount_micros
),
by_hand AS (
    SELECT team, day, CAST(sum(exact) AS DECIMAL(38, 0)) AS exact FROM written GROUP BY team, day
),
spent AS (
    SELECT d.team, d.from_ms, d.day, d.whole,
        CAST(coalesce(t.exact, 0) + coalesce(h.exact, 0) AS DECIMAL(38, 0)) AS exact, coalesce(t.held_ms, 0) AS held_ms
    FROM days d
    LEFT JOIN team_day t ON t.team = d.team AND t.day = d.day AND t.budget_from_ms = d.from_ms
    LEFT JOIN by_hand h ON h.team = d.team AND h.day = d.day
)
SELECT team, from_ms, day, whole, exact, held_ms,
    CAST(sum(exact) OVER (PARTITION BY team, from_ms ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        AS DECIMAL(38, 0)) AS exact_so_far,
    CAST(sum(held_ms) OVER (PARTITION BY team, from_ms ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT)
        AS held_so_far_ms
FROM spent
