-- A run whose peak of GPU memory is above its quota: what the scheduler granted, else share x card where it holds less than whole
-- cards. An alert, whatever the coverage: what was seen was seen. It claims nothing.
-- layer: card. cause: memory above quota
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_memory_over_quota
WITH quota AS (
    SELECT holder, coalesce(granted_mem_bytes, CASE WHEN card_units < 72072000
        THEN CAST(cards * card_bytes / 1000 * (card_units / 72072) AS BIGINT) END) AS quota_bytes
    FROM evidence
)
SELECT 'memory_over_quota' AS rule, 'card' AS layer, 'memory above quota' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.mem_peak_bytes AS BIGINT) AS value, CAST(q.quota_bytes AS BIGINT) AS threshold, 'bytes' AS unit, e.coverage_ppm AS coverage_ppm,
    'peak ' || e.mem_peak_words || ' of GPU memory, quota ' || CAST(q.quota_bytes / 1073741824 AS VARCHAR) || '.' || CAST(q.quota_bytes % 1073741824 / 107374183 AS VARCHAR) || ' GiB' AS evidence,
    'Hold the process to its quota (memory fraction, batch size), or ask for the share that fits: neighbours on the card run out of memory.' AS remedy_en,
    '将进程显存限制在配额内（显存比例、批大小），或申请合适的份额，否则同卡邻居会显存不足。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN quota q ON q.holder = e.holder
WHERE q.quota_bytes > 0 AND CAST(e.mem_peak_bytes AS DECIMAL(38, 0)) * 1000000
    > CAST(q.quota_bytes AS DECIMAL(38, 0)) * (1000000 + l.memory_over_quota_ppm)
