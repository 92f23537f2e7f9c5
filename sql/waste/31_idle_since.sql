-- All cards of a run at rest together for the window of its type (a hole of more than two minutes starts the clock again). It
-- claims the cells that lie wholly in such a spell.
-- layer: card. cause: at rest for long
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, idle_spell
-- parameters: none
-- output: hit_idle_since
SELECT 'idle_since' AS rule, 'card' AS layer, 'at rest for long' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, s.claim_from_cell, s.claim_to_cell,
    s.from_ms AS from_ms, s.to_ms AS to_ms, s.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(s.to_ms - s.from_ms AS BIGINT) AS value, CAST(l.idle_since_ms AS BIGINT) AS threshold, 'ms' AS unit, e.coverage_ppm AS coverage_ppm,
    'all ' || CAST(e.cards AS VARCHAR) || ' GPUs at rest for ' || CAST((s.to_ms - s.from_ms) / 3600000 AS VARCHAR) || '.' || CAST((s.to_ms - s.from_ms) % 3600000 / 360000 AS VARCHAR) || ' h'
        || CASE WHEN s.reaches_end THEN ', to the end of what was seen' ELSE ', busy again afterwards' END || '; ' || e.held_words AS evidence,
    'End the run when its work is done: release at the end of the script, or let an idle limit do it.' AS remedy_en,
    '任务完成后及时结束作业：在脚本末尾释放，或设置空闲时限自动释放。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN idle_spell s ON s.holder = e.holder
WHERE s.to_ms - s.from_ms >= l.idle_since_ms AND coalesce(e.cards >= e.gpu_count, true)
