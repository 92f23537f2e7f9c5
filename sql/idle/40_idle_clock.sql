-- The clocks of each card of a holder: since when it has been at rest, and since when it has worked.
-- Rest begins after the last tick that was busy or a quarrel, and after the last hole: more than `hole_ms` (two minutes) in which no
-- tick said busy or rest, counted from the start of the run, too, or from `seen_ms` where what is read begins later. Work begins
-- after the last pause of more than five minutes.
-- grain: device x holder. key: device_id, holder. units: epoch ms
-- inputs: idle_tick, idle_subject
-- parameters: hole_ms BIGINT, seen_ms BIGINT
-- output: idle_clock
WITH told AS (
    SELECT t.device_id, t.holder, t.state, t.to_ms, t.reason,
        CASE WHEN s.start_ms < CAST($seen_ms AS BIGINT) THEN CAST($seen_ms AS BIGINT) ELSE s.start_ms END AS start_ms,
        CASE WHEN t.from_ms > s.start_ms THEN t.from_ms ELSE s.start_ms END AS from_ms
    FROM idle_tick t
    JOIN idle_subject s ON s.holder = t.holder AND s.start_ms < t.to_ms
),
known AS (
    SELECT *,
        lag(to_ms) OVER (PARTITION BY device_id, holder ORDER BY from_ms) AS before_ms
    FROM told
    WHERE state IN ('busy', 'rest')
),
holes AS (
    SELECT device_id, holder, min(start_ms) AS start_ms, min(from_ms) AS first_ms, max(to_ms) AS newest_ms,
        max(CASE WHEN from_ms - coalesce(before_ms, start_ms) > CAST($hole_ms AS BIGINT) THEN from_ms END) AS hole_ms
    FROM known
    GROUP BY device_id, holder
),
worked AS (
    SELECT device_id, holder, from_ms, to_ms,
        CASE WHEN from_ms - lag(to_ms) OVER (PARTITION BY device_id, holder ORDER BY from_ms) <= 300000 THEN 0 ELSE 1 END
            AS begins
    FROM known
    WHERE state = 'busy'
),
spell AS (
    SELECT device_id, holder, max(to_ms) AS active_to_ms, max(CASE WHEN begins = 1 THEN from_ms END) AS active_from_ms
    FROM worked
    GROUP BY device_id, holder
),
quarrel AS (
    SELECT device_id, holder, max(to_ms) AS quarrel_ms FROM told WHERE state = 'quarrel' GROUP BY device_id, holder
),
rested AS (
    SELECT h.*, s.active_to_ms, s.active_from_ms, q.quarrel_ms,
        CASE
            WHEN coalesce(s.active_to_ms >= coalesce(h.hole_ms, h.first_ms), false)
                AND coalesce(s.active_to_ms >= q.quarrel_ms, true) THEN s.active_to_ms
            WHEN coalesce(q.quarrel_ms >= coalesce(h.hole_ms, h.first_ms), false) THEN q.quarrel_ms
            ELSE coalesce(h.hole_ms, h.first_ms)
        END AS rest_from_ms
    FROM holes h
    LEFT JOIN spell s ON s.device_id = h.device_id AND s.holder = h.holder
    LEFT JOIN quarrel q ON q.device_id = h.device_id AND q.holder = h.holder
)
SELECT device_id, holder, start_ms, newest_ms, hole_ms, quarrel_ms, active_to_ms,
    CASE WHEN newest_ms - active_to_ms <= 300000 THEN active_from_ms END AS active_from_ms,
    CASE WHEN rest_from_ms < newest_ms THEN rest_from_ms END AS rest_from_ms
FROM rested
