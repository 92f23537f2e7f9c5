-- Some cards of a run were used and others never. One row for each unused card; it claims the idle time of that card.
-- layer: card. cause: more GPUs asked than used
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, card_evidence
-- parameters: none
-- output: hit_partly_used
SELECT 'partly_used' AS rule, 'card' AS layer, 'more GPUs asked than used' AS cause, e.holder AS holder, e.holder AS claim_holder,
    c.device_id AS claim_unit_id, 0 AS claim_from_cell, 9000000000 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.cards_used AS BIGINT) AS value, CAST(e.cards AS BIGINT) AS threshold, 'GPUs' AS unit, e.coverage_ppm AS coverage_ppm,
    CAST(e.cards_used AS VARCHAR) || ' of ' || CAST(e.cards AS VARCHAR) || ' GPUs used in ' || CAST((e.to_ms - e.from_ms) / 3600000 AS VARCHAR) || '.' || CAST((e.to_ms - e.from_ms) % 3600000 / 360000 AS VARCHAR)
        || ' h; the others stayed at rest, ' || e.coverage_words AS evidence,
    'Ask for ' || CAST(e.cards_used AS VARCHAR) || ' GPUs, or start one process on each of the ' || CAST(e.cards AS VARCHAR) || '.' AS remedy_en,
    '改为申请 ' || CAST(e.cards_used AS VARCHAR) || ' 张 GPU，或让 ' || CAST(e.cards AS VARCHAR) || ' 张卡都有进程在运行。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN card_evidence c ON c.holder = e.holder AND c.rest_ms = c.covered_ms
WHERE e.cards_used > 0 AND e.cards_used < e.cards AND e.began_inside AND coalesce(e.cards >= e.gpu_count, true)
    AND c.covered_ms >= c.held_ms / 1000000 * l.coverage_ppm AND e.coverage_ppm >= l.coverage_ppm
    AND e.to_ms - e.from_ms >= l.partly_used_ms
