-- A run that shows a little load now and then and nothing between: its highest poll is over the threshold and its mean under it, for
-- the window. Suspect of being kept alive; it is told as evidence, never acted upon. It claims its idle time.
-- layer: card. cause: token load
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_token_load
SELECT 'token_load' AS rule, 'card' AS layer, 'token load' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 9000000000 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(CAST(CAST(e.card_busy_ms AS DECIMAL(38, 0)) * 1000000 / e.card_covered_ms AS BIGINT) AS BIGINT) AS value, CAST(l.token_mean_ppm AS BIGINT) AS threshold, 'ppm' AS unit, e.coverage_ppm AS coverage_ppm,
    'highest poll ' || CAST(e.peak_ppm / 10000 AS VARCHAR) || '.' || CAST(e.peak_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ', mean ' || CAST(CAST(CAST(e.card_busy_ms AS DECIMAL(38, 0)) * 1000000 / e.card_covered_ms AS BIGINT) / 10000 AS VARCHAR) || '.' || CAST(CAST(CAST(e.card_busy_ms AS DECIMAL(38, 0)) * 1000000 / e.card_covered_ms AS BIGINT) % 10000 / 1000 AS VARCHAR) || ' %'
        || ' in ' || CAST((e.to_ms - e.from_ms) / 3600000 AS VARCHAR) || '.' || CAST((e.to_ms - e.from_ms) % 3600000 / 360000 AS VARCHAR) || ' h; ' || e.coverage_words AS evidence,
    'Ask the owner what the run waits for; if nothing, release it.' AS remedy_en,
    '询问使用者该作业在等待什么；若无必要，请释放。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.peak_ppm > l.token_peak_ppm AND e.card_covered_ms > 0
    AND CAST(CAST(e.card_busy_ms AS DECIMAL(38, 0)) * 1000000 / e.card_covered_ms AS BIGINT) < l.token_mean_ppm
    AND e.coverage_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.token_load_ms
