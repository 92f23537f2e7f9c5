-- The thresholds that hold for each scope of runs at the end of the window: the most specific row (team, then queue, then
-- task type). Percentages are ppm, `times` are ppm of once, times are ms.
-- grain: scope. key: scope_key. units: ms, ppm
-- inputs: evidence, threshold
-- parameters: at_ms BIGINT
-- output: limits
WITH scope AS (
    SELECT DISTINCT scope_key, task_type, queue, team FROM evidence
),
matched AS (
    SELECT s.scope_key, t.rule || '.' || t.name AS name,
        CASE t.unit WHEN 'percent' THEN t.value_e4 WHEN 'times' THEN t.value_e4 * 100 WHEN 'minutes' THEN t.value_e4 * 6
            WHEN 'hours' THEN t.value_e4 * 360 WHEN 'days' THEN t.value_e4 * 8640 END AS value,
        row_number() OVER (
            PARTITION BY s.scope_key, t.rule, t.name
            ORDER BY t.team IS NULL, t.queue IS NULL, t.task_type IS NULL, t.value_e4
        ) AS place
    FROM scope s
    JOIN threshold t ON (t.team IS NULL OR t.team = s.team) AND (t.queue IS NULL OR t.queue = s.queue)
        AND (t.task_type IS NULL OR t.task_type = s.task_type)
    WHERE t.from_ms <= CAST($at_ms AS BIGINT) AND (t.to_ms IS NULL OR t.to_ms > CAST($at_ms AS BIGINT))
),
best AS (
    SELECT scope_key, name, value FROM matched WHERE place = 1
)
SELECT scope_key,
    max(CASE WHEN name = 'all.coverage_percent' THEN value END) AS coverage_ppm,
    max(CASE WHEN name = 'never_touched.window_minutes' THEN value END) AS never_touched_ms,
    max(CASE WHEN name = 'idle_since.window_minutes' THEN value END) AS idle_since_ms,
    max(CASE WHEN name = 'partly_used.window_minutes' THEN value END) AS partly_used_ms,
    max(CASE WHEN name = 'hung.window_minutes' THEN value END) AS hung_ms,
    max(CASE WHEN name = 'low_use.mean_percent' THEN value END) AS low_use_ppm,
    max(CASE WHEN name = 'low_use.window_minutes' THEN value END) AS low_use_ms,
    max(CASE WHEN name = 'memory_asked.peak_times' THEN value END) AS memory_asked_ppm,
    max(CASE WHEN name = 'memory_asked.window_minutes' THEN value END) AS memory_asked_ms,
    max(CASE WHEN name = 'memory_over_quota.margin_percent' THEN value END) AS memory_over_quota_ppm,
    max(CASE WHEN name = 'card_too_large.margin_percent' THEN value END) AS card_margin_ppm,
    max(CASE WHEN name = 'card_too_large.smallest_percent' THEN value END) AS card_smallest_ppm,
    max(CASE WHEN name = 'card_too_large.window_minutes' THEN value END) AS card_too_large_ms,
    max(CASE WHEN name = 'card_cut_small.smallest_percent' THEN value END) AS card_cut_small_ppm,
    max(CASE WHEN name = 'outside_spec.window_minutes' THEN value END) AS outside_spec_ms,
    max(CASE WHEN name = 'limit_over_run.run_times' THEN value END) AS limit_over_run_ppm,
    max(CASE WHEN name = 'limit_over_run.left_minutes' THEN value END) AS limit_left_ms,
    max(CASE WHEN name = 'over_duration.grace_minutes' THEN value END) AS over_duration_ms,
    max(CASE WHEN name = 'sm_low_week.mean_percent' THEN value END) AS sm_low_week_ppm,
    max(CASE WHEN name = 'sm_low_week.window_days' THEN value END) AS sm_low_week_ms,
    max(CASE WHEN name = 'memory_bound.sm_percent' THEN value END) AS memory_bound_sm_ppm,
    max(CASE WHEN name = 'memory_bound.tensor_percent' THEN value END) AS memory_bound_tensor_ppm,
    max(CASE WHEN name = 'memory_bound.dram_percent' THEN value END) AS memory_bound_dram_ppm,
    max(CASE WHEN name = 'memory_bound.window_minutes' THEN value END) AS memory_bound_ms,
    max(CASE WHEN name = 'input_bound.sm_percent' THEN value END) AS input_bound_sm_ppm,
    max(CASE WHEN name = 'input_bound.wait_percent' THEN value END) AS input_bound_wait_ppm,
    max(CASE WHEN name = 'input_bound.power_percent' THEN value END) AS input_bound_power_ppm,
    max(CASE WHEN name = 'input_bound.window_minutes' THEN value END) AS input_bound_ms,
    max(CASE WHEN name = 'resident_service.memory_percent' THEN value END) AS resident_memory_ppm,
    max(CASE WHEN name = 'resident_service.mean_percent' THEN value END) AS resident_mean_ppm,
    max(CASE WHEN name = 'resident_service.window_hours' THEN value END) AS resident_ms,
    max(CASE WHEN name = 'contention.over_percent' THEN value END) AS contention_ppm,
    max(CASE WHEN name = 'contention.window_minutes' THEN value END) AS contention_ms,
    max(CASE WHEN name = 'slow_start.window_minutes' THEN value END) AS slow_start_ms,
    max(CASE WHEN name = 'failed_runs.lost_minutes' THEN value END) AS failed_runs_ms,
    max(CASE WHEN name = 'debug_left.window_minutes' THEN value END) AS debug_left_ms,
    max(CASE WHEN name = 'token_load.peak_percent' THEN value END) AS token_peak_ppm,
    max(CASE WHEN name = 'token_load.mean_percent' THEN value END) AS token_mean_ppm,
    max(CASE WHEN name = 'token_load.window_minutes' THEN value END) AS token_load_ms
FROM best
GROUP BY scope_key
