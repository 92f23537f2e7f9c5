-- A run that never used any of its cards since it began: all of them named, measured, and at rest in every tick, no poll over
-- 1 %. It claims all idle time of the run. A run that began before the window may have worked then and is judged by 31.
-- layer: card. cause: held and never used
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_never_touched
SELECT 'never_touched' AS rule, 'card' AS layer, 'held and never used' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 9000000000 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.to_ms - e.from_ms AS BIGINT) AS value, CAST(l.never_touched_ms AS BIGINT) AS threshold, 'ms' AS unit, e.coverage_ppm AS coverage_ppm,
    CAST(e.cards AS VARCHAR) || ' of ' || CAST(e.cards AS VARCHAR) || ' GPUs never used since the start, '
        || CAST((e.to_ms - e.from_ms) / 3600000 AS VARCHAR) || '.' || CAST((e.to_ms - e.from_ms) % 3600000 / 360000 AS VARCHAR) || ' h ago; ' || e.held_words || ', ' || e.coverage_words AS evidence,
    'Cancel the run, or start what it was meant for; ask for GPUs when the data and the code are ready.' AS remedy_en,
    '取消该作业，或立即运行真正的任务；数据和代码就绪后再申请 GPU。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.cards > 0 AND coalesce(e.cards >= e.gpu_count, true) AND e.began_inside
    AND e.rest_ms = e.card_covered_ms AND coalesce(e.peak_ppm <= 10000, true)
    AND e.coverage_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.never_touched_ms
