-- A service (Deployment, StatefulSet, InferenceService, or a run of type infer) that fills its memory and computes little: all its
-- replicas are one finding, told by how many were held at once and how many were ever busy together in a cell. It claims the idle
-- time of its replicas; the lead is the replica with the smallest id.
-- layer: cluster. cause: service resident with little to do
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, holder_cell
-- parameters: from_cell BIGINT, to_cell BIGINT, from_day INT, to_day INT
-- output: hit_resident_service
WITH member AS (
    SELECT e.holder, e.scope_key, e.cluster || '/' || coalesce(e.account, '-') || '/' || coalesce(e.workload_name, e.name) AS workload
    FROM evidence e
    JOIN limits l ON l.scope_key = e.scope_key
    WHERE (e.workload_kind IN ('Deployment', 'StatefulSet', 'InferenceService') OR e.task_type = 'infer')
        AND coalesce(e.workload_name, e.name) IS NOT NULL AND e.cards > 0 AND e.cards_mem > 0
        AND CAST(e.mem_peak_bytes AS DECIMAL(38, 0)) * 1000000 >= l.resident_memory_ppm
            * coalesce(e.granted_mem_bytes, e.cards * (e.card_bytes / 72072 * (e.card_units / 1000)))
        AND e.use_ppm < l.resident_mean_ppm AND e.use_known_ppm >= l.coverage_ppm AND e.to_ms - e.from_ms >= l.resident_ms
),
replica_cell AS (
    SELECT m.workload, c.cell, c.holder, max(CASE WHEN c.rest_ms < c.covered_ms THEN 1 ELSE 0 END) AS busy
    FROM holder_cell c
    JOIN member m ON m.holder = c.holder
    WHERE c.day >= CAST($from_day AS INT) AND c.day <= CAST($to_day AS INT)
        AND c.cell >= CAST($from_cell AS BIGINT) AND c.cell < CAST($to_cell AS BIGINT)
    GROUP BY m.workload, c.cell, c.holder
),
per_cell AS (
    SELECT workload, cell, count(*) AS held, sum(busy) AS busy FROM replica_cell GROUP BY workload, cell
),
replicas AS (
    SELECT workload, max(held) AS held, max(busy) AS busy FROM per_cell GROUP BY workload
),
leader AS (
    SELECT workload, min(holder) AS holder FROM member GROUP BY workload
)
SELECT 'resident_service' AS rule, 'cluster' AS layer, 'service resident with little to do' AS cause, d.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 9000000000 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(r.busy AS BIGINT) AS value, CAST(r.held AS BIGINT) AS threshold, 'replicas' AS unit, e.coverage_ppm AS coverage_ppm,
    m.workload || ': ' || CAST(r.held AS VARCHAR) || ' replicas held at once, at most ' || CAST(r.busy AS VARCHAR)
        || ' busy in the same 15 minutes; memory full, mean use ' || e.use_words AS evidence,
    'Scale to ' || CAST(CASE WHEN r.busy > 0 THEN r.busy ELSE 1 END AS VARCHAR) || ' replicas and let load decide, or serve several models from one card.' AS remedy_en,
    '缩容到 ' || CAST(CASE WHEN r.busy > 0 THEN r.busy ELSE 1 END AS VARCHAR) || ' 个副本并按负载伸缩，或多个模型共用一张卡。' AS remedy_zh
FROM evidence e
JOIN member m ON m.holder = e.holder
JOIN replicas r ON r.workload = m.workload
JOIN leader d ON d.workload = m.workload
