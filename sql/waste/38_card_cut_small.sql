-- A run that holds less of a card than the smallest part that should be cut: schedulers and processes cost more than the part
-- gives. It claims nothing.
-- layer: governance. cause: card cut too small
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_card_cut_small
SELECT 'card_cut_small' AS rule, 'governance' AS layer, 'card cut too small' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.card_units_least * 1000 / 72072 AS BIGINT) AS value, CAST(l.card_cut_small_ppm AS BIGINT) AS threshold, 'ppm' AS unit, e.coverage_ppm AS coverage_ppm,
    'holds ' || CAST(e.card_units_least * 1000 / 72072 / 10000 AS VARCHAR) || '.' || CAST(e.card_units_least * 1000 / 72072 % 10000 / 1000 AS VARCHAR) || ' %' || ' of a card; the smallest part is ' || CAST(l.card_cut_small_ppm / 10000 AS VARCHAR) || '.' || CAST(l.card_cut_small_ppm % 10000 / 1000 AS VARCHAR) || ' %' AS evidence,
    'Cut cards into eighths at most: give this work an eighth, or put several of its tasks into one process.' AS remedy_en,
    '单卡最多切成八份：分配八分之一，或把多个任务合并到一个进程。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.card_units_least > 0 AND CAST(e.card_units_least AS BIGINT) * 1000 < l.card_cut_small_ppm * 72072
