-- A run that uses little of the SMs while its processes wait for storage or keep the granted CPUs busy, at less power than is usual
-- for its model at work. It claims its idle time. Waiting is that of the card whose process waited most; a model without usual
-- power is not judged.
-- layer: node. cause: waits for input
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, usual_power
-- parameters: none
-- output: hit_input_bound
WITH waiting AS (
    SELECT e.holder, e.io_wait_ms * 1000000 / (e.card_covered_ms / e.cards) AS wait_ppm,
        CASE WHEN e.cpus > 0 THEN e.cpu_ms * 1000 / (e.card_covered_ms / e.cards) * 1000 / e.cpus END AS cpu_ppm
    FROM evidence e
    WHERE e.cards > 0 AND e.card_covered_ms / e.cards > 0
)
SELECT 'input_bound' AS rule, 'node' AS layer, 'waits for input' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 9000000000 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(e.sm_ppm AS BIGINT) AS value, CAST(l.input_bound_sm_ppm AS BIGINT) AS threshold, 'ppm' AS unit, e.coverage_ppm AS coverage_ppm,
    'SM ' || CAST(e.sm_ppm / 10000 AS VARCHAR) || '.' || CAST(e.sm_ppm % 10000 / 1000 AS VARCHAR) || ' %' || CASE WHEN w.wait_ppm >= l.input_bound_wait_ppm
        THEN ', waits for storage ' || CAST(w.wait_ppm / 10000 AS VARCHAR) || '.' || CAST(w.wait_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ' of the time' ELSE ', CPUs busy ' || CAST(w.cpu_ppm / 10000 AS VARCHAR) || '.' || CAST(w.cpu_ppm % 10000 / 1000 AS VARCHAR) || ' %' END
        || ', power ' || CAST(e.power_mw / 1000 AS VARCHAR) || ' W, usual ' || CAST(p.usual_mw / 1000 AS VARCHAR) || ' W' AS evidence,
    'Feed the GPU: more loader workers or CPUs, prefetching, data on local disks or in larger files.' AS remedy_en,
    '改善数据供给：增加数据加载进程或 CPU、预取、把数据放到本地盘或合并为大文件。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN waiting w ON w.holder = e.holder
JOIN usual_power p ON p.model = e.model
WHERE e.sm_ppm < l.input_bound_sm_ppm AND e.cards_used > 0
    AND (w.wait_ppm >= l.input_bound_wait_ppm OR w.cpu_ppm >= 900000)
    AND CAST(e.power_mw AS BIGINT) * 1000000 < p.usual_mw * l.input_bound_power_ppm
    AND e.coverage_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.input_bound_ms
