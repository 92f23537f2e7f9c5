-- Runs that go on and need somebody now: hung (see waste/33_hung) up to less than `fresh_ms` before the end of the window, or above
-- their quota of GPU memory (see waste/36_memory_over_quota). Activities and power are means over the ticks that look hung, absent
-- where none of them has the measure. value and threshold are bytes, for memory alone.
-- grain: rule x run. units: epoch ms, ppm, mW, bytes
-- inputs: hit, evidence, holder_cell
-- parameters: to_ms BIGINT, fresh_ms BIGINT, from_day INT, to_day INT
-- output: run_alert
WITH hung AS (
    SELECT holder, min(from_ms) AS from_ms, max(to_ms) AS to_ms
    FROM hit
    WHERE rule = 'hung' AND to_ms >= CAST($to_ms AS BIGINT) - CAST($fresh_ms AS BIGINT)
    GROUP BY holder
),
look AS (
    SELECT h.holder, h.from_ms, h.to_ms,
        -- products are divided before they are added: several cards could make them too large
        CAST(sum(c.sm_work / 1000) AS BIGINT) AS sm_work, CAST(sum(c.sm_known_ms) AS BIGINT) AS sm_ms,
        CAST(sum(c.dram_work / 1000) AS BIGINT) AS dram_work, CAST(sum(c.dram_known_ms) AS BIGINT) AS dram_ms,
        CAST(sum(c.power_work / 1000) AS BIGINT) AS power_work, CAST(sum(c.power_known_ms) AS BIGINT) AS power_ms
    FROM hung h
    JOIN holder_cell c ON c.holder = h.holder AND c.from_ms < h.to_ms AND c.to_ms > h.from_ms
    WHERE c.day >= CAST($from_day AS INT) AND c.day <= CAST($to_day AS INT) AND c.hung_ms > 0
    GROUP BY h.holder, h.from_ms, h.to_ms
),
mean AS (
    SELECT holder, from_ms, to_ms,
        CASE WHEN sm_ms > 0 THEN CAST(CAST(sm_work AS DECIMAL(38, 0)) * 1000 / sm_ms AS BIGINT) END AS sm_ppm,
        CASE WHEN dram_ms > 0 THEN CAST(CAST(dram_work AS DECIMAL(38, 0)) * 1000 / dram_ms AS BIGINT) END AS dram_ppm,
        CASE WHEN power_ms > 0 THEN CAST(CAST(power_work AS DECIMAL(38, 0)) * 1000 / power_ms AS BIGINT) END AS power_mw
    FROM look
),
memory AS (
    SELECT holder, min(from_ms) AS from_ms, max(to_ms) AS to_ms, max(value) AS value, max(threshold) AS threshold
    FROM hit
    WHERE rule = 'memory_over_quota'
    GROUP BY holder
),
found AS (
    SELECT 'hung' AS rule, holder, from_ms, to_ms, sm_ppm, dram_ppm, power_mw, CAST(NULL AS BIGINT) AS value,
        CAST(NULL AS BIGINT) AS threshold
    FROM mean
    UNION ALL
    SELECT 'memory_over_quota', holder, from_ms, to_ms, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), value, threshold
    FROM memory
)
SELECT f.rule, e.cluster, coalesce(e.node, e.nodes, '-') AS node, coalesce(e.job_raw, '-') AS job, e.name AS job_name, e."user", e.team,
    coalesce(e.gpu_count, e.cards) AS gpus, f.from_ms, f.to_ms, f.sm_ppm, f.dram_ppm, f.power_mw, f.value, f.threshold
FROM found f
JOIN evidence e ON e.holder = f.holder
WHERE e.open
ORDER BY f.rule, e.cluster, job, f.holder
