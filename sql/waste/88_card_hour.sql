-- What each card was most of the time in each local hour of a window: a character an hour, whole cells only.
-- 0 to 9: half of the hour's known time or more is held and measured; the digit is the busy part of that, in tenths, nine at most.
-- Else the greatest of i (held, idle), m (held, not measured), f (free), x (unavailable), o (unobserved), the later of equals.
-- A point: nothing is known of the hour.
-- grain: card, or stand-in of cards that nobody named. key: unit_id. units: epoch ms
-- inputs: usage, unit, calendar
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: card_hour
WITH hour AS (
    SELECT hour_start_ms FROM calendar
    WHERE cell * 900000 >= CAST($from_ms AS BIGINT) AND (cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
    GROUP BY hour_start_ms
),
was AS (
    SELECT s.unit_id, c.hour_start_ms, sum(s.busy_ms) AS busy, sum(s.held_idle_ms) AS idle, sum(s.held_unmeasured_ms) AS unmeasured,
        sum(s.unallocated_ms) AS free, sum(s.unavailable_ms) AS broken, sum(s.unobserved_ms) AS unseen
    FROM usage s
    JOIN calendar c ON c.cell = s.cell
    WHERE s.day >= CAST($from_day AS INT) AND s.day <= CAST($to_day AS INT)
        AND s.cell * 900000 >= CAST($from_ms AS BIGINT) AND (s.cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
    GROUP BY s.unit_id, c.hour_start_ms
),
word AS (
    SELECT unit_id, hour_start_ms,
        CASE WHEN busy + idle + unmeasured + free + broken + unseen = 0 THEN '.'
            WHEN (busy + idle) * 2 >= busy + idle + unmeasured + free + broken + unseen
                THEN CAST(CASE WHEN busy = busy + idle THEN 9 ELSE busy * 10 / (busy + idle) END AS VARCHAR)
            WHEN unseen >= greatest(idle, unmeasured, free, broken) THEN 'o'
            WHEN broken >= greatest(idle, unmeasured, free) THEN 'x'
            WHEN free >= greatest(idle, unmeasured) THEN 'f'
            WHEN unmeasured >= idle THEN 'm'
            ELSE 'i' END AS word
    FROM was
)
SELECT u.unit_id, coalesce(u.cluster, '-') AS cluster, coalesce(u.node, '-') AS node, coalesce(u.uuid, '-') AS device,
    min(h.hour_start_ms) AS from_ms, string_agg(coalesce(w.word, '.'), '' ORDER BY h.hour_start_ms) AS hours
FROM unit u
CROSS JOIN hour h
LEFT JOIN word w ON w.unit_id = u.unit_id AND w.hour_start_ms = h.hour_start_ms
WHERE u.unit_id IN (SELECT unit_id FROM was)
GROUP BY u.unit_id, u.cluster, u.node, u.uuid
ORDER BY cluster, node, device, u.unit_id
