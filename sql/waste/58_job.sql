-- Everything the report of a job says of one of its runs. What is not known is NULL.
-- gpus_used counts cards on which anything of it ran, where all its cards are named and some of their time was measured.
-- quota_bytes: GPU memory granted by the scheduler (quota_of: granted), else share x card (share).
-- teams: one a line, whose part of what it cost is meant; empty: what it cost all that pay for it.
-- grain: one row. units: ms, epoch ms, bytes, ppm, mJ, share units, exact money
-- inputs: run, evidence, fact
-- parameters: holder BIGINT, teams VARCHAR
-- output: job
WITH paid AS (
    SELECT holder, CAST(sum(held_cost) AS DECIMAL(38, 0)) AS charge_cost, CAST(sum(waste_cost) AS DECIMAL(38, 0)) AS waste_cost,
        CAST(sum(unpriced_ms) AS BIGINT) AS unpriced_ms, CAST(sum(energy_mj) AS BIGINT) AS energy_mj,
        CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms, max(currency) AS currency
    FROM fact
    WHERE holder = CAST($holder AS BIGINT)
        AND (CAST($teams AS VARCHAR) = '' OR strpos(chr(10) || CAST($teams AS VARCHAR) || chr(10), chr(10) || team || chr(10)) > 0)
    GROUP BY holder
),
attempts AS (
    SELECT job_key, count(*) AS attempts FROM run GROUP BY job_key
)
SELECT r.holder, r.kind, coalesce(r.cluster, '-') || '/' || coalesce(r.job_raw, '-') AS subject, r.name, r.task_type, r."user",
    r.account, r.labels, r.queue, r.qos, r.nodes, r.workload_kind, r.workload_name, r.priority_class, r.state, r.exit_code, r.end_reason,
    r.open, r.attempt, a.attempts, r.preemptible, r.submit_ms, r.eligible_ms, r.start_ms, r.end_ms,
    r.start_ms - r.eligible_ms AS wait_ms, r.end_ms - r.start_ms AS run_ms, r.time_limit_ms, r.req_gpu_units, r.gpu_units, r.gpu_count,
    coalesce(e.model, r.model) AS model, e.team, e.cost_center, e.pool, e.tier, e.held_ms, e.busy_ms, e.held_idle_ms,
    p.held_unmeasured_ms, e.covered_ms, e.coverage_ppm, e.judged_ms, e.effective_ms, e.sm_ppm, e.dram_ppm, e.tensor_ppm, e.use_ppm,
    e.use_basis, e.peak_ppm, CASE WHEN e.covered_ms > 0 AND e.cards >= coalesce(r.gpu_count, e.cards) THEN e.cards_used END AS gpus_used,
    e.cards, e.mem_peak_bytes,
    coalesce(r.gpu_mem_bytes, CAST((CAST(e.card_bytes AS DECIMAL(38, 0)) * coalesce(r.gpu_units, e.card_units)
        - (CAST(e.card_bytes AS DECIMAL(38, 0)) * coalesce(r.gpu_units, e.card_units)) % 72072000) / 72072000 AS BIGINT)) AS quota_bytes,
    CASE WHEN r.gpu_mem_bytes IS NOT NULL THEN 'granted' ELSE 'share' END AS quota_of, p.energy_mj, e.power_mw,
    r.image_pull_ms, r.image_ready_ms, r.container_start_ms, e.first_active_ms, p.charge_cost, p.waste_cost, p.unpriced_ms, p.currency
FROM run r
JOIN attempts a ON a.job_key = r.job_key
LEFT JOIN evidence e ON e.holder = r.holder
LEFT JOIN paid p ON p.holder = r.holder
WHERE r.holder = CAST($holder AS BIGINT)
