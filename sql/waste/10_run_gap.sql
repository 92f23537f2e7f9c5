-- Asked against used, per run with usage in the window: GPUs asked, granted and really used (devices on which anything of it
-- ran), GPU memory quota (granted, else share x card) and peak, time limit and run time, held and effective time, priced.
-- Time and limit count once a run, over its whole life; held, effective and money only inside the window.
-- The time gap is what the limit reserved beyond the run: GPUs x (limit - run time), for runs that are over.
-- Dimensions that money may split (team) are the charge's own; counts stand on the part with the most held time.
-- grain: run x charge dimensions. units: ms, bytes, share units, exact money
-- inputs: fact, run, unit
-- parameters: none
-- output: run_gap
WITH per_unit AS (
    -- a peak is per card; a run on several has the sum of its cards' peaks beside the sum of its quotas
    SELECT holder, unit_id, max(busy_ms) AS busy_ms, max(covered_ms) AS covered_ms, max(mem_peak_bytes) AS mem_peak_bytes
    FROM fact
    WHERE holder <> 0
    GROUP BY holder, unit_id
),
device_use AS (
    SELECT p.holder, count(CASE WHEN p.busy_ms > 0 THEN 1 END) AS used, CAST(sum(p.mem_peak_bytes) AS BIGINT) AS mem_peak_bytes,
        count(CASE WHEN u.kind = 'device' THEN 1 END) AS named, bool_or(p.covered_ms > 0) AS measured,
        max(u.memory_bytes) AS card_bytes
    FROM per_unit p
    JOIN unit u ON u.unit_id = p.unit_id
    GROUP BY p.holder
),
summed AS (
    SELECT holder, team, cost_center, pool, tier, model, task_type, cluster, account, "user", queue, qos, gpus, state, kind,
        job, workload_kind, currency,
        CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
        CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms, CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
        CAST(sum(judged_ms) AS BIGINT) AS judged_ms, CAST(sum(effective_ms) AS BIGINT) AS effective_ms,
        CAST(sum(waste_cost) AS DECIMAL(38, 0)) AS waste_cost, CAST(sum(gap_cost) AS DECIMAL(38, 0)) AS gap_cost,
        CAST(sum(held_cost) AS DECIMAL(38, 0)) AS held_cost
    FROM fact
    WHERE holder <> 0
    GROUP BY holder, team, cost_center, pool, tier, model, task_type, cluster, account, "user", queue, qos, gpus, state, kind,
        job, workload_kind, currency
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY holder ORDER BY held_ms DESC, team, cost_center, pool, model) AS place FROM summed
)
SELECT s.holder, s.team, s.cost_center, s.pool, s.tier, s.model, s.task_type, s.cluster, s.account, s."user", s.queue, s.qos,
    s.gpus, s.state, s.kind, s.job, s.workload_kind, s.currency,
    s.held_ms, s.busy_ms, s.held_idle_ms, s.held_unmeasured_ms, s.judged_ms, s.effective_ms,
    s.judged_ms - coalesce(s.effective_ms, 0) AS gap_ms, s.waste_cost, s.gap_cost, s.held_cost,
    CASE WHEN s.place = 1 THEN 1 ELSE 0 END AS runs,
    CASE WHEN s.place = 1 THEN r.req_gpu_units END AS req_gpu_units,
    CASE WHEN s.place = 1 THEN r.gpu_units END AS gpu_units,
    CASE WHEN s.place = 1 AND d.measured AND d.named >= r.gpu_count THEN CAST(d.used AS BIGINT) END AS gpus_used,
    CASE WHEN s.place = 1 AND d.measured AND d.named >= r.gpu_count THEN r.gpu_count END AS gpus_judged,
    CASE WHEN s.place = 1 AND d.mem_peak_bytes IS NOT NULL
        THEN coalesce(r.gpu_mem_bytes, CAST((CAST(d.card_bytes AS DECIMAL(38, 0)) * r.gpu_units
            - (CAST(d.card_bytes AS DECIMAL(38, 0)) * r.gpu_units) % 72072000) / 72072000 AS BIGINT)) END AS gpu_mem_quota_bytes,
    CASE WHEN s.place = 1 THEN d.mem_peak_bytes END AS gpu_mem_peak_bytes,
    CASE WHEN s.place = 1 AND r.time_limit_ms IS NOT NULL THEN r.time_limit_ms END AS time_limit_ms,
    CASE WHEN s.place = 1 AND r.time_limit_ms IS NOT NULL THEN r.end_ms - r.start_ms END AS run_ms,
    CASE WHEN s.place = 1 AND r.time_limit_ms > r.end_ms - r.start_ms AND NOT r.open
        THEN CAST(CAST(r.time_limit_ms - (r.end_ms - r.start_ms) AS DECIMAL(38, 0)) * r.gpu_units AS DECIMAL(38, 0)) END
        AS time_gap_unit_ms
FROM ranked s
LEFT JOIN run r ON r.holder = s.holder
LEFT JOIN device_use d ON d.holder = s.holder
