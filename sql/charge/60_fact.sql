-- Charges with everything by which a report groups them, and their exact money: ms x price_micros, which is
-- currency units x 3 600 000 x 10^6. Time without a price has no money here and is listed as unpriced.
-- grain: charge. units: ms, exact money
-- inputs: charge, run, unit
-- parameters: none
-- output: fact
SELECT coalesce(c.team, '(platform)') AS team, coalesce(c.cost_center, '-') AS cost_center, c.pool,
    coalesce(c.tier, '-') AS tier, coalesce(c.model, '-') AS model, c.task_type,
    c.local_day AS day, c.local_month AS month, c.rate_id, c.price_micros, c.currency, c.holder, c.unit_id,
    coalesce(u.cluster, r.cluster, '-') AS cluster, coalesce(u.node, '-') AS node,
    coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*'), '-') AS device,
    CASE WHEN c.holder = 0 THEN '-' ELSE coalesce(r.account, '-') END AS account,
    CASE WHEN c.holder = 0 THEN '-' ELSE coalesce(r."user", '-') END AS "user",
    coalesce(r.queue, '-') AS queue, coalesce(r.qos, '-') AS qos,
    coalesce(CAST(r.gpu_count AS VARCHAR), '-') AS gpus,
    coalesce(r.state, '-') AS state, coalesce(r.kind, 'nobody') AS kind,
    coalesce(r.job_raw, '-') AS job, coalesce(r.workload_kind, '-') AS workload_kind,
    c.busy_ms, c.held_idle_ms, c.held_unmeasured_ms, c.held_ms, c.unallocated_ms, c.unavailable_ms, c.unobserved_ms,
    c.covered_ms, c.effective_ms, c.judged_ms, c.held_zero_ms, c.over_share_ms, c.conflict_ms, c.estimated_ms,
    c.foreign_ms, c.mem_peak_bytes, c.energy_mj,
    c.busy_ms + c.held_idle_ms + c.held_unmeasured_ms + c.unallocated_ms + c.unavailable_ms + c.unobserved_ms AS capacity_ms,
    CASE WHEN c.price_micros IS NULL THEN c.held_ms ELSE 0 END AS unpriced_ms,
    CAST(c.held_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS held_cost,
    CAST(c.held_idle_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS waste_cost,
    CAST(c.unallocated_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS unallocated_cost,
    CAST(c.unavailable_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS unavailable_cost,
    CAST(c.unobserved_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS unobserved_cost,
    CAST(c.judged_ms - coalesce(c.effective_ms, 0) AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS gap_cost
FROM charge c
LEFT JOIN run r ON r.holder = c.holder
LEFT JOIN unit u ON u.unit_id = c.unit_id
