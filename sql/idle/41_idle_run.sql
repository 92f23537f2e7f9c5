-- The same for whole runs: at rest only while every card is, and as fresh as the card that was seen least recently. A run some of
-- whose granted GPUs are not known by name, or have no tick, has fewer `cards_seen` than `gpu_count`. Class never_touched: no
-- card worked since the start, and none had a hole or a quarrel; nobody knows that of a run that began before what is read.
-- Rest that goes back to the beginning of what is read goes on where an earlier look left it (`idle_known`).
-- grain: run. key: holder. units: epoch ms, ms
-- inputs: idle_subject, idle_clock, idle_known
-- parameters: hole_ms BIGINT, seen_ms BIGINT
-- output: idle_run
WITH gathered AS (
    SELECT s.holder, s.kind, s.cluster, s.policy, s.gpu_count, s.start_ms, s.cards, s.never_ms, s.idle_ms,
        count(c.device_id) AS cards_seen, min(c.newest_ms) AS newest_ms, max(c.active_to_ms) AS active_to_ms,
        min(c.active_from_ms) AS active_from_ms, max(c.quarrel_ms) AS quarrel_ms, max(c.hole_ms) AS hole_ms,
        CASE WHEN count(c.rest_from_ms) = count(*) THEN max(c.rest_from_ms) END AS rest_from_ms
    FROM idle_subject s
    LEFT JOIN idle_clock c ON c.holder = s.holder
    GROUP BY s.holder, s.kind, s.cluster, s.policy, s.gpu_count, s.start_ms, s.cards, s.never_ms, s.idle_ms
),
told AS (
    SELECT g.*, k.rest_from_ms AS known_ms,
        g.active_to_ms IS NULL AND g.quarrel_ms IS NULL AND g.hole_ms IS NULL
            AND g.start_ms > CAST($seen_ms AS BIGINT) + CAST($hole_ms AS BIGINT) AS is_untouched
    FROM gathered g
    LEFT JOIN idle_known k ON k.holder = g.holder
)
SELECT holder, kind, cluster, policy, gpu_count, start_ms, cards, cards_seen, newest_ms, active_to_ms, active_from_ms, quarrel_ms,
    hole_ms,
    CASE WHEN rest_from_ms <= CAST($seen_ms AS BIGINT) + CAST($hole_ms AS BIGINT) AND known_ms < rest_from_ms THEN known_ms
        ELSE rest_from_ms END AS rest_from_ms,
    is_untouched, CASE WHEN is_untouched THEN never_ms ELSE idle_ms END AS window_ms
FROM told
