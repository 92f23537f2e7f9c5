-- A run that used under the threshold of what it held, on average over its time in the window. It claims all its idle time; where
-- only an average of the whole run is known, no time is known to be idle, and the gap is what was held beyond it.
-- layer: card. cause: low use
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_low_use
SELECT 'low_use' AS rule, 'card' AS layer, 'low use' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 9000000000 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CASE WHEN e.use_basis = 'average' THEN e.judged_ms - e.effective_ms END AS gap_ms,
    CAST(e.use_ppm AS BIGINT) AS value, CAST(l.low_use_ppm AS BIGINT) AS threshold, 'ppm' AS unit, e.use_known_ppm AS coverage_ppm,
    'mean use ' || e.use_words || CASE e.use_basis WHEN 'sm' THEN ' (SM activity)' WHEN 'gpu' THEN ' (busy time)'
        ELSE ' (average of the run)' END || ' in ' || CAST((e.to_ms - e.from_ms) / 3600000 AS VARCHAR) || '.' || CAST((e.to_ms - e.from_ms) % 3600000 / 360000 AS VARCHAR) || ' h; ' || e.held_words AS evidence,
    'Use a smaller part of a card or fewer cards, or feed the GPU better; if this is as intended, say so once and it will not be listed again.' AS remedy_en,
    '改用更小的切片或更少的卡，或改善数据供给；若属预期用途，请标记为有意为之，之后不再列出。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.use_ppm < l.low_use_ppm AND e.use_known_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.low_use_ms
