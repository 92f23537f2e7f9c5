-- How a team's days differ: of the whole days of its budget so far, the 10th and the 90th percentile (nearest rank) of what was spent and
-- held on a day.
-- grain: team. units: exact money, ms
-- inputs: budget_day
-- parameters: none
-- output: budget_spread
WITH ranked AS (
    SELECT team, from_ms, exact, held_ms, count(*) OVER (PARTITION BY team, from_ms) AS days,
        row_number() OVER (PARTITION BY team, from_ms ORDER BY exact, day) AS by_exact,
        row_number() OVER (PARTITION BY team, from_ms ORDER BY held_ms, day) AS by_held
    FROM budget_day
    WHERE whole
)
SELECT team, from_ms, max(days) AS days,
    max(CASE WHEN by_exact = (days * 10 + 99) / 100 THEN exact END) AS exact_low,
    max(CASE WHEN by_exact = (days * 90 + 99) / 100 THEN exact END) AS exact_high,
    max(CASE WHEN by_held = (days * 10 + 99) / 100 THEN held_ms END) AS held_low_ms,
    max(CASE WHEN by_held = (days * 90 + 99) / 100 THEN held_ms END) AS held_high_ms
FROM ranked
GROUP BY team, from_ms
