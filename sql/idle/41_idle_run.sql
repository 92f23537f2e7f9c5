-- The same for whole runs: at rest only while every card is, and as fresh as the card that was seen least recently. A run some of
-- whose granted GPUs are not known by name, or have no tick, has fewer `cards_seen` than `gpu_count`. Class never_touched: no
-- card worked since the start, and none had a hole or a quarrel.
-- grain: run. key: holder. units: epoch ms, ms
-- inputs: idle_subject, idle_clock
-- parameters: none
-- output: idle_run
SELECT s.holder, s.cluster, s.policy, s.gpu_count, s.start_ms, s.cards, count(c.device_id) AS cards_seen,
    min(c.newest_ms) AS newest_ms, max(c.active_to_ms) AS active_to_ms, min(c.active_from_ms) AS active_from_ms,
    max(c.quarrel_ms) AS quarrel_ms, max(c.hole_ms) AS hole_ms,
    CASE WHEN count(c.rest_from_ms) = count(*) THEN max(c.rest_from_ms) END AS rest_from_ms,
    max(c.active_to_ms) IS NULL AND max(c.quarrel_ms) IS NULL AND max(c.hole_ms) IS NULL AS is_untouched,
    CASE WHEN max(c.active_to_ms) IS NULL AND max(c.quarrel_ms) IS NULL AND max(c.hole_ms) IS NULL
        THEN min(s.never_ms) ELSE min(s.idle_ms) END AS window_ms
FROM idle_subject s
LEFT JOIN idle_clock c ON c.holder = s.holder
GROUP BY s.holder, s.cluster, s.policy, s.gpu_count, s.start_ms, s.cards
