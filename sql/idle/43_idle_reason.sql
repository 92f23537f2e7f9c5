-- Why a run's newest tick said nothing, where it did not: the most frequent word of its last fifteen minutes, ties by word.
-- grain: run. key: holder
-- inputs: idle_subject, idle_tick
-- parameters: at_ms BIGINT
-- output: idle_reason
WITH counted AS (
    SELECT s.holder, t.reason, count(*) AS ticks
    FROM idle_subject s
    JOIN idle_tick t ON t.holder = s.holder
    WHERE t.reason IS NOT NULL AND t.to_ms > CAST($at_ms AS BIGINT) - 900000
    GROUP BY s.holder, t.reason
),
ranked AS (
    SELECT holder, reason, row_number() OVER (PARTITION BY holder ORDER BY ticks DESC, reason) AS place FROM counted
)
SELECT holder, reason FROM ranked WHERE place = 1
