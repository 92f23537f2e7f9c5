-- When in the week each run that held GPUs for long was busy: a character for each of the 168 local hours of a week, from Monday
-- 0:00 on, over whole cells of the window. 0 to 9: the busy part of what was measured in that hour, in tenths, nine at most. A
-- point: the run held nothing then that was measured, so nobody knows.
-- A run that several teams pay for has a row for each.
-- grain: run x team x pool. units: ms
-- inputs: fact, usage, calendar
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT, least_ms BIGINT
-- output: run_week
WITH long AS (
    SELECT holder FROM fact WHERE holder > 0 GROUP BY holder HAVING sum(held_ms) >= CAST($least_ms AS BIGINT)
),
named AS (
    SELECT f.holder, f.cluster, f.job, f.account, f.team, f."user", f.model, f.pool, f.task_type, CAST(sum(f.held_ms) AS BIGINT) AS held_ms
    FROM fact f
    JOIN long l ON l.holder = f.holder
    GROUP BY f.holder, f.cluster, f.job, f.account, f.team, f."user", f.model, f.pool, f.task_type
),
was AS (
    SELECT s.holder, c.weekday, c.hour, sum(s.busy_ms) AS busy_ms, sum(s.busy_ms + s.held_idle_ms) AS measured_ms
    FROM usage s
    JOIN long l ON l.holder = s.holder
    JOIN calendar c ON c.cell = s.cell
    WHERE s.day >= CAST($from_day AS INT) AND s.day <= CAST($to_day AS INT)
        AND s.cell * 900000 >= CAST($from_ms AS BIGINT) AND (s.cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
    GROUP BY s.holder, c.weekday, c.hour
),
hour AS (
    SELECT l.holder, h.at FROM long l CROSS JOIN (SELECT unnest(range(0, 168)) AS at) h
),
week AS (
    SELECT h.holder,
        string_agg(
            CASE WHEN coalesce(w.measured_ms, 0) = 0 THEN '.'
                ELSE CAST(CASE WHEN w.busy_ms = w.measured_ms THEN 9 ELSE w.busy_ms * 10 / w.measured_ms END AS VARCHAR) END,
            '' ORDER BY h.at) AS hours
    FROM hour h
    LEFT JOIN was w ON w.holder = h.holder AND w.weekday = h.at / 24 + 1 AND w.hour = h.at % 24
    GROUP BY h.holder
)
SELECT n.cluster, n.job, n.account, n.team, n."user", n.model, n.pool, n.task_type, n.held_ms, w.hours
FROM named n
JOIN week w ON w.holder = n.holder
ORDER BY n.held_ms DESC, n.cluster, n.job, n.team, n.pool, n.model, n.account, n."user", n.task_type
