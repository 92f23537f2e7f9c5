-- What all rules found, with their order: idle time that several explain belongs to the first.
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: hit_never_touched, hit_idle_since, hit_partly_used, hit_hung, hit_low_use, hit_memory_asked, hit_memory_over_quota, hit_card_too_large, hit_card_cut_small, hit_outside_spec, hit_limit_over_run, hit_over_duration, hit_sm_low_week, hit_memory_bound, hit_input_bound, hit_resident_service, hit_contention, hit_slow_start, hit_failed_runs, hit_debug_left, hit_token_load
-- parameters: none
-- output: hit
WITH found AS (
    SELECT * FROM hit_never_touched
    UNION ALL SELECT * FROM hit_idle_since
    UNION ALL SELECT * FROM hit_partly_used
    UNION ALL SELECT * FROM hit_hung
    UNION ALL SELECT * FROM hit_low_use
    UNION ALL SELECT * FROM hit_memory_asked
    UNION ALL SELECT * FROM hit_memory_over_quota
    UNION ALL SELECT * FROM hit_card_too_large
    UNION ALL SELECT * FROM hit_card_cut_small
    UNION ALL SELECT * FROM hit_outside_spec
    UNION ALL SELECT * FROM hit_limit_over_run
    UNION ALL SELECT * FROM hit_over_duration
    UNION ALL SELECT * FROM hit_sm_low_week
    UNION ALL SELECT * FROM hit_memory_bound
    UNION ALL SELECT * FROM hit_input_bound
    UNION ALL SELECT * FROM hit_resident_service
    UNION ALL SELECT * FROM hit_contention
    UNION ALL SELECT * FROM hit_slow_start
    UNION ALL SELECT * FROM hit_failed_runs
    UNION ALL SELECT * FROM hit_debug_left
    UNION ALL SELECT * FROM hit_token_load
),
rule_order (rule, rank) AS (
    VALUES ('never_touched', 1), ('idle_since', 2), ('partly_used', 3), ('hung', 4), ('low_use', 5),
        ('memory_asked', 6), ('memory_over_quota', 7), ('card_too_large', 8), ('card_cut_small', 9), ('outside_spec', 10),
        ('limit_over_run', 11), ('over_duration', 12), ('sm_low_week', 13), ('memory_bound', 14), ('input_bound', 15),
        ('resident_service', 16), ('contention', 17), ('slow_start', 18), ('failed_runs', 19), ('debug_left', 20),
        ('token_load', 21), ('idle_other', 22)
)
SELECT o.rank, f.*
FROM found f
JOIN rule_order o ON o.rule = f.rule
