-- A debug session (task type debug) whose cards are at rest from some moment to the end of what was seen of it, for the window. It
-- claims the cells wholly in that spell.
-- layer: card. cause: debug session left open
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, idle_spell
-- parameters: none
-- output: hit_debug_left
SELECT 'debug_left' AS rule, 'card' AS layer, 'debug session left open' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, s.claim_from_cell, s.claim_to_cell,
    s.from_ms AS from_ms, s.to_ms AS to_ms, s.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(s.to_ms - s.from_ms AS BIGINT) AS value, CAST(l.debug_left_ms AS BIGINT) AS threshold, 'ms' AS unit, e.coverage_ppm AS coverage_ppm,
    'debug session at rest for its last ' || CAST((s.to_ms - s.from_ms) / 3600000 AS VARCHAR) || '.' || CAST((s.to_ms - s.from_ms) % 3600000 / 360000 AS VARCHAR) || ' h; ' || e.held_words AS evidence,
    'Close the session when you leave; an interactive queue with an idle limit does it for you.' AS remedy_en,
    '离开时关闭会话；带空闲时限的交互队列可自动完成。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN idle_spell s ON s.holder = e.holder AND s.reaches_end
WHERE e.task_type = 'debug' AND s.to_ms - s.from_ms >= l.debug_left_ms AND coalesce(e.cards >= e.gpu_count, true)
