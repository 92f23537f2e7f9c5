-- Why a run's newest tick said nothing, where it did not: the most frequent word of its last fifteen minutes, ties by word; and
-- the longest time between two looks at one of its cards in the last hour.
-- grain: run. key: holder. units: ms
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
),
apart AS (
    SELECT t.holder, t.to_ms - lag(t.to_ms) OVER (PARTITION BY t.device_id, t.holder ORDER BY t.to_ms) AS apart_ms
    FROM idle_subject s
    JOIN idle_tick t ON t.holder = s.holder
    WHERE t.to_ms > CAST($at_ms AS BIGINT) - 3600000
),
longest AS (
    SELECT holder, max(apart_ms) AS apart_ms FROM apart GROUP BY holder
)
SELECT s.holder, r.reason, l.apart_ms
FROM idle_subject s
LEFT JOIN ranked r ON r.holder = s.holder AND r.place = 1
LEFT JOIN longest l ON l.holder = s.holder
