-- A run that asked for more GPU memory than so many times its peak (all cards together), where the source says what it asked for.
-- It claims nothing; the gap is the part of the held time that stands for the memory above the peak.
-- layer: card. cause: memory asked far above peak
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_memory_asked
SELECT 'memory_asked' AS rule, 'card' AS layer, 'memory asked far above peak' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST((CAST(e.held_ms AS DECIMAL(38, 0)) * (e.asked_mem_bytes - e.mem_peak_bytes)
        - (CAST(e.held_ms AS DECIMAL(38, 0)) * (e.asked_mem_bytes - e.mem_peak_bytes)) % e.asked_mem_bytes)
        / e.asked_mem_bytes AS BIGINT) AS gap_ms,
    CAST(e.mem_peak_bytes AS BIGINT) AS value, CAST(e.asked_mem_bytes AS BIGINT) AS threshold, 'bytes' AS unit, e.coverage_ppm AS coverage_ppm,
    CAST(e.asked_mem_bytes / 1073741824 AS VARCHAR) || '.' || CAST(e.asked_mem_bytes % 1073741824 / 107374183 AS VARCHAR) || ' GiB'
        || ' of GPU memory asked for, peak ' || e.mem_peak_words || ', ' || e.coverage_words AS evidence,
    'Ask for the peak and some margin: ' || CAST((e.mem_peak_bytes / 100 * 115 + 1073741823) / 1073741824 AS VARCHAR) || ' GiB.' AS remedy_en,
    '按峰值加余量申请显存：' || CAST((e.mem_peak_bytes / 100 * 115 + 1073741823) / 1073741824 AS VARCHAR) || ' GiB。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.asked_mem_bytes > 0 AND e.cards > 0 AND e.cards_mem = e.cards AND coalesce(e.cards >= e.gpu_count, true)
    AND e.mem_peak_bytes > 0 AND CAST(e.mem_peak_bytes AS DECIMAL(38, 0)) * l.memory_asked_ppm
        < CAST(e.asked_mem_bytes AS DECIMAL(38, 0)) * 1000000
    AND e.coverage_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.memory_asked_ms
