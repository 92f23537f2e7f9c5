-- A run that lasts longer than the spec of its task type allows (the team's spec, else that for any team, as valid at its start).
-- It claims nothing; the gap is the time it held in the window after that.
-- layer: governance. cause: longer than its type may run
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, spec
-- parameters: none
-- output: hit_over_duration
WITH valid AS (
    SELECT e.holder, s.max_hours * 3600000 AS max_ms,
        row_number() OVER (PARTITION BY e.holder ORDER BY s.team IS NULL, s.from_ms) AS place
    FROM evidence e
    JOIN spec s ON s.task_type = e.task_type AND (s.team IS NULL OR s.team = e.team)
        AND s.from_ms <= e.start_ms AND (s.to_ms IS NULL OR s.to_ms > e.start_ms)
),
over AS (
    SELECT e.holder, v.max_ms,
        e.to_ms - CASE WHEN e.start_ms + v.max_ms > e.from_ms THEN e.start_ms + v.max_ms ELSE e.from_ms END AS over_ms
    FROM evidence e
    JOIN valid v ON v.holder = e.holder AND v.place = 1 AND v.max_ms IS NOT NULL
)
SELECT 'over_duration' AS rule, 'governance' AS layer, 'longer than its type may run' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.start_ms + o.max_ms AS first_seen_ms, CAST(CAST(e.held_ms AS DECIMAL(38, 0)) * o.over_ms / (e.to_ms - e.from_ms) AS BIGINT) AS gap_ms,
    CAST(e.run_ms AS BIGINT) AS value, CAST(o.max_ms AS BIGINT) AS threshold, 'ms' AS unit, 1000000 AS coverage_ppm,
    'a ' || e.task_type || ' run of ' || CAST(e.run_ms / 3600000 AS VARCHAR) || '.' || CAST(e.run_ms % 3600000 / 360000 AS VARCHAR) || ' h; its type may run ' || CAST(o.max_ms / 3600000 AS VARCHAR) || '.' || CAST(o.max_ms % 3600000 / 360000 AS VARCHAR) || ' h' AS evidence,
    'Split the work at checkpoints and submit the parts one after the other, or agree on a longer duration for the team.' AS remedy_en,
    '在检查点处拆分任务并依次提交，或为团队约定更长的时长。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN over o ON o.holder = e.holder
WHERE o.over_ms > 0 AND e.run_ms > o.max_ms + l.over_duration_ms AND e.to_ms > e.from_ms
