-- The verdict on every run that holds GPUs: busy, idle, or unknown and why. No verdict without 90 % of the window measured, a tick
-- that is fresh enough and a successful reading of its scheduler that is (R1); what lies ahead of now by more than that comes
-- from a clock that nobody can trust. Idle: every card at rest for the whole window of its policy. Busy: it worked in its window.
-- A run at rest for less, since a hole or since its start, is unknown: nobody can say yet. A session has no scheduler to be read.
-- also: a second reason, looks further apart than a hole may be.
-- grain: run. key: holder. units: epoch ms, ms, ppm, mW. invariants: R1
-- inputs: idle_run, idle_coverage, idle_reason, idle_read
-- parameters: at_ms BIGINT, tick_ms BIGINT, reading_ms BIGINT, coverage_ppm BIGINT, hole_ms BIGINT
-- output: verdict
WITH joined AS (
    SELECT r.*, c.coverage_ppm, c.peak_ppm, c.power_mw, c.floor_mw, l.read_ms, w.reason AS why, w.apart_ms
    FROM idle_run r
    LEFT JOIN idle_coverage c ON c.holder = r.holder
    LEFT JOIN idle_read l ON l.cluster = r.cluster
    LEFT JOIN idle_reason w ON w.holder = r.holder
),
judged AS (
    SELECT *,
        CASE
            WHEN kind <> 'session' AND coalesce(abs(CAST($at_ms AS BIGINT) - read_ms) > CAST($reading_ms AS BIGINT), true) THEN 'scheduler_stale'
            WHEN cards < gpu_count THEN 'devices_unnamed'
            WHEN newest_ms IS NULL THEN coalesce(why, 'never_measured')
            WHEN cards_seen < cards THEN coalesce(why, 'never_measured')
            WHEN abs(CAST($at_ms AS BIGINT) - newest_ms) > CAST($tick_ms AS BIGINT) THEN coalesce(why, 'stale')
            WHEN coalesce(quarrel_ms >= newest_ms, false) THEN 'disagreement'
            WHEN coalesce(coverage_ppm < CAST($coverage_ppm AS BIGINT), true) THEN coalesce(why, 'low_coverage')
            WHEN newest_ms - rest_from_ms >= window_ms THEN 'idle'
            WHEN active_to_ms > newest_ms - window_ms THEN 'busy'
            WHEN quarrel_ms > newest_ms - window_ms THEN 'disagreement'
            WHEN hole_ms > newest_ms - window_ms THEN 'clock_restarted'
            ELSE 'too_young'
        END AS word
    FROM joined
)
SELECT holder, policy, CASE WHEN word IN ('busy', 'idle') THEN word ELSE 'unknown' END AS verdict,
    CASE WHEN word IN ('busy', 'idle') THEN NULL ELSE word END AS reason,
    CASE WHEN word NOT IN ('busy', 'idle', 'clock_restarted') AND apart_ms > CAST($hole_ms AS BIGINT) THEN 'clock_restarted' END
        AS also,
    CASE WHEN word <> 'idle' THEN NULL WHEN is_untouched THEN 'never_touched' ELSE 'idle_since' END AS class,
    rest_from_ms, active_from_ms, newest_ms, coverage_ppm, peak_ppm, power_mw, floor_mw, window_ms, read_ms,
    active_to_ms, apart_ms
FROM judged
