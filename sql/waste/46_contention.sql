-- A run on a part of a card that uses more than it was granted: over_share (time its kernels ran beyond its part) is more than so
-- much of its measured time. Its neighbours pay for it. It claims nothing.
-- layer: node. cause: sharers in contention
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_contention
SELECT 'contention' AS rule, 'node' AS layer, 'sharers in contention' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(CAST(e.over_share_ms AS DECIMAL(38, 0)) * 1000000 / e.covered_ms AS BIGINT) AS value, CAST(l.contention_ppm AS BIGINT) AS threshold, 'ppm' AS unit, e.coverage_ppm AS coverage_ppm,
    'ran ' || CAST(e.over_share_ms / 3600000 AS VARCHAR) || '.' || CAST(e.over_share_ms % 3600000 / 360000 AS VARCHAR) || ' GPU-hours beyond the ' || CAST(e.card_units * 1000 / 72072 / 10000 AS VARCHAR) || '.' || CAST(e.card_units * 1000 / 72072 % 10000 / 1000 AS VARCHAR) || ' %' || ' of a card it was granted' AS evidence,
    'Give it the share it uses, or separate the neighbours by MIG, which holds everybody to his part.' AS remedy_en,
    '按实际用量分配份额，或用 MIG 隔离，使各方不越界。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.card_units < 72072000 AND e.covered_ms > 0
    AND CAST(CAST(e.over_share_ms AS DECIMAL(38, 0)) * 1000000 / e.covered_ms AS BIGINT) > l.contention_ppm
    AND e.coverage_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.contention_ms
