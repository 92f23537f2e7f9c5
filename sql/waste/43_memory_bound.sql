-- A run that keeps the SMs busy with reading and writing memory and does not use the tensor cores. Its time is busy: it claims
-- nothing and has no gap; a faster card of more bandwidth or better code is the remedy.
-- layer: card. cause: bound by memory bandwidth
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_memory_bound
SELECT 'memory_bound' AS rule, 'card' AS layer, 'bound by memory bandwidth' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.dram_ppm AS BIGINT) AS value, CAST(l.memory_bound_dram_ppm AS BIGINT) AS threshold, 'ppm' AS unit, e.coverage_ppm AS coverage_ppm,
    'SM ' || CAST(e.sm_ppm / 10000 AS VARCHAR) || '.' || CAST(e.sm_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ', tensor ' || CAST(e.tensor_ppm / 10000 AS VARCHAR) || '.' || CAST(e.tensor_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ', DRAM ' || CAST(e.dram_ppm / 10000 AS VARCHAR) || '.' || CAST(e.dram_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ' on average; ' || e.coverage_words AS evidence,
    'Use mixed precision and fused kernels so that tensor cores work, or a card with more bandwidth; more SMs would not help.' AS remedy_en,
    '使用混合精度和算子融合以利用张量核心，或换用带宽更高的卡；增加算力没有帮助。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.sm_ppm >= l.memory_bound_sm_ppm AND e.tensor_ppm <= l.memory_bound_tensor_ppm AND e.dram_ppm >= l.memory_bound_dram_ppm
    AND e.coverage_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.memory_bound_ms
