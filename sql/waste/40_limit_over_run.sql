-- A run that ended in the window and had reserved so many times its run time. It claims nothing: nobody is charged for it. The gap
-- is what the limit reserved beyond the run, GPUs x (limit - run), which keeps the scheduler from filling holes.
-- layer: cluster. cause: limit far above run time
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_limit_over_run
SELECT 'limit_over_run' AS rule, 'cluster' AS layer, 'limit far above run time' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.start_ms AS from_ms, e.end_ms AS to_ms, e.from_ms AS first_seen_ms, CAST((CAST(e.time_limit_ms - e.run_ms AS DECIMAL(38, 0)) * e.gpu_units
        - (CAST(e.time_limit_ms - e.run_ms AS DECIMAL(38, 0)) * e.gpu_units) % 72072000) / 72072000 AS BIGINT) AS gap_ms,
    CAST(e.run_ms AS BIGINT) AS value, CAST(e.time_limit_ms AS BIGINT) AS threshold, 'ms' AS unit, 1000000 AS coverage_ppm,
    'limit ' || CAST(e.time_limit_ms / 3600000 AS VARCHAR) || '.' || CAST(e.time_limit_ms % 3600000 / 360000 AS VARCHAR) || ' h, ran ' || CAST(e.run_ms / 3600000 AS VARCHAR) || '.' || CAST(e.run_ms % 3600000 / 360000 AS VARCHAR) || ' h, ended ' || coalesce(e.state, '?') AS evidence,
    'Set the limit to about ' || CAST((e.run_ms / 10 * 13 + 3599999) / 3600000 AS VARCHAR) || ' h: shorter limits start sooner.' AS remedy_en,
    '把时限设为约 ' || CAST((e.run_ms / 10 * 13 + 3599999) / 3600000 AS VARCHAR) || ' 小时：时限越短，越早开始。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE NOT e.open AND e.ended_inside AND e.gpu_units > 0 AND e.time_limit_ms - e.run_ms >= l.limit_left_ms
    AND CAST(e.time_limit_ms AS DECIMAL(38, 0)) * 1000000 >= CAST(e.run_ms AS DECIMAL(38, 0)) * l.limit_over_run_ppm
