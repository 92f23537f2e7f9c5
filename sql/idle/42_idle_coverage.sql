-- How much of its window was measured, on the card of a run that was measured least: time of ticks that say busy or rest. The
-- window ends with the newest tick and begins a window before it, not before the start.
-- grain: run. key: holder. units: ms, ppm, mW
-- inputs: idle_run, idle_tick
-- parameters: none
-- output: idle_coverage
WITH spans AS (
    SELECT holder, newest_ms,
        CASE WHEN newest_ms - window_ms > start_ms THEN newest_ms - window_ms ELSE start_ms END AS from_ms, rest_from_ms
    FROM idle_run
    WHERE newest_ms IS NOT NULL
),
per_card AS (
    SELECT s.holder, t.device_id, s.newest_ms - s.from_ms AS window_ms,
        sum(CASE WHEN t.state NOT IN ('busy', 'rest') THEN 0 ELSE
            CASE WHEN t.to_ms < s.newest_ms THEN t.to_ms ELSE s.newest_ms END
            - CASE WHEN t.from_ms > s.from_ms THEN t.from_ms ELSE s.from_ms END END) AS ms,
        max(CASE WHEN t.from_ms >= s.rest_from_ms THEN t.peak_ppm END) AS peak_ppm,
        max(CASE WHEN t.from_ms >= s.rest_from_ms THEN t.power_mw END) AS power_mw, max(t.floor_mw) AS floor_mw
    FROM spans s
    JOIN idle_tick t ON t.holder = s.holder AND t.from_ms < s.newest_ms AND t.to_ms > s.from_ms
    GROUP BY s.holder, t.device_id, s.newest_ms, s.from_ms
)
SELECT holder, CAST(min(CASE WHEN window_ms > 0 THEN ms * 1000000 / window_ms END) AS BIGINT) AS coverage_ppm,
    max(peak_ppm) AS peak_ppm, max(power_mw) AS power_mw, max(floor_mw) AS floor_mw
FROM per_card
GROUP BY holder
