-- A run whose first kernel came long after it got its GPUs: scheduled -> images pulled -> container started -> first kernel, as far as
-- each step is known. A session of a bare host was not scheduled and has none. It claims the cells wholly before the first kernel.
-- layer: cluster. cause: slow cold start
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_slow_start
SELECT 'slow_start' AS rule, 'cluster' AS layer, 'slow cold start' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, e.start_ms / 900000 AS claim_from_cell, e.first_active_ms / 900000 AS claim_to_cell,
    e.from_ms AS from_ms, e.first_active_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.first_active_ms - e.start_ms AS BIGINT) AS value, CAST(l.slow_start_ms AS BIGINT) AS threshold, 'ms' AS unit, e.coverage_ppm AS coverage_ppm,
    CAST((e.first_active_ms - e.start_ms) / 60000 AS VARCHAR) || ' min from start to the first kernel; images '
        || coalesce(CAST((e.image_ready_ms - coalesce(e.image_pull_ms, e.start_ms)) / 60000 AS VARCHAR) || ' min', '?') || ', container '
        || coalesce(CAST((e.container_start_ms - coalesce(e.image_ready_ms, e.start_ms)) / 60000 AS VARCHAR) || ' min', '?')
        || ', own start '
        || coalesce(CAST((e.first_active_ms - e.container_start_ms) / 60000 AS VARCHAR) || ' min', '?') AS evidence,
    'Keep images and models near the node (pre-pulled image, local cache), and load data before asking for GPUs.' AS remedy_en,
    '把镜像和模型放在节点附近（预拉取、本地缓存），先准备数据再申请 GPU。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.kind = 'scheduler' AND e.began_inside AND e.first_active_ms - e.start_ms >= l.slow_start_ms
    AND e.first_seen_ms - e.start_ms <= 900000 AND e.coverage_ppm >= l.coverage_ppm
