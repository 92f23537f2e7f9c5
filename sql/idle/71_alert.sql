-- What people are told of a holder without a case, each in its own column:
-- hung for half an hour of the last one and in its newest tick; a card lost, or its ticks too old while it is held; a little load
-- now and then (works in at most a twentieth of its ticks of a day, and in one at least); more GPU memory than granted in the last
-- quarter of an hour; witnesses that contradict each other in its window; some cards in use and some never used.
-- grain: run. key: holder
-- inputs: idle_subject, standing, idle_card, idle_tick, idle_newest, idle_run, idle_clock, holder_tick
-- parameters: at_ms BIGINT, tick_ms BIGINT
-- output: idle_alert
WITH hung AS (
    SELECT holder, sum(CASE WHEN hung THEN to_ms - from_ms ELSE 0 END) AS hung_ms, max(CASE WHEN hung THEN to_ms END) AS last_ms,
        max(to_ms) AS newest_ms
    FROM idle_tick
    WHERE to_ms > CAST($at_ms AS BIGINT) - 3600000
    GROUP BY holder
),
lost AS (
    SELECT c.holder, count(CASE WHEN n.last_state = 'lost' OR CAST($at_ms AS BIGINT) - n.last_ms > CAST($tick_ms AS BIGINT) THEN 1 END) AS cards
    FROM idle_card c
    JOIN idle_newest n ON n.device_id = c.device_id
    GROUP BY c.holder
),
day AS (
    SELECT t.holder, count(*) AS ticks, count(CASE WHEN t.state = 'busy' THEN 1 END) AS busy
    FROM idle_tick t
    JOIN idle_subject s ON s.holder = t.holder AND s.start_ms <= CAST($at_ms AS BIGINT) - 86400000
    WHERE t.from_ms >= CAST($at_ms AS BIGINT) - 86400000
    GROUP BY t.holder
),
used AS (
    SELECT holder, device_id, max(mem_peak_bytes) AS bytes
    FROM holder_tick
    WHERE tick_from_ms >= CAST($at_ms AS BIGINT) - 900000 AND tick_from_ms < CAST($at_ms AS BIGINT)
    GROUP BY holder, device_id
),
memory AS (
    SELECT u.holder, CAST(sum(u.bytes) AS BIGINT) AS bytes FROM used u GROUP BY u.holder
),
cards AS (
    SELECT holder, count(CASE WHEN active_to_ms IS NULL AND hole_ms IS NULL AND quarrel_ms IS NULL AND newest_ms - rest_from_ms >= 3600000 THEN 1 END) AS never,
        count(active_to_ms) AS used
    FROM idle_clock
    GROUP BY holder
)
SELECT s.holder,
    coalesce(h.hung_ms >= 1800000 AND h.last_ms >= h.newest_ms, false) AS hung,
    coalesce(l.cards > 0, false) AS node_lost,
    coalesce(d.busy > 0 AND d.busy * 20 <= d.ticks, false) AS token_load,
    coalesce(m.bytes > r.gpu_mem_bytes, false) AS memory_over_quota,
    coalesce(i.quarrel_ms > i.newest_ms - i.window_ms, i.quarrel_ms IS NOT NULL) AS disagreement,
    coalesce(c.never > 0 AND c.used > 0, false) AS partly_idle
FROM idle_subject s
JOIN standing r ON r.holder = s.holder
LEFT JOIN hung h ON h.holder = s.holder
LEFT JOIN lost l ON l.holder = s.holder
LEFT JOIN day d ON d.holder = s.holder
LEFT JOIN memory m ON m.holder = s.holder
LEFT JOIN idle_run i ON i.holder = s.holder
LEFT JOIN cards c ON c.holder = s.holder
