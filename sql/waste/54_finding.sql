-- Findings with what they are about, what they cost and what was last said of them. Idle time is that which belongs to the
-- finding alone, so that it adds up over findings to the waste of the window; gaps are a separate sum, of which `counted_gap`
-- is the one per run that totals may add. A rule that only says how idle a run is (idle_since, low_use, sm_low_week, debug_left)
-- is listed where idle time or a gap is its own: elsewhere an earlier rule has said it.
-- `idle_other` is no finding but the rest that makes idle time add up.
-- What a run's text says comes from its longest row of the rule. An absent coverage is not a measured one.
-- grain: rule x holder x team x cost centre x pool x tier x model x currency. units: ms, epoch ms, ppm, exact money
-- inputs: hit, claimed, gap_line, evidence, run, finding_note
-- parameters: none
-- output: finding
WITH head AS (
    SELECT *, row_number() OVER (PARTITION BY rule, holder ORDER BY to_ms - from_ms DESC, from_ms, claim_unit_id, claim_holder) AS place
    FROM hit
),
part AS (
    SELECT rule, rank, holder, team, cost_center, pool, tier, model, currency, idle_ms, waste_cost, 0 AS gap_ms,
        CAST(0 AS DECIMAL(38, 0)) AS gap_cost, 0 AS counted_gap_ms, CAST(0 AS DECIMAL(38, 0)) AS counted_gap_cost
    FROM claimed
    UNION ALL
    SELECT rule, rank, holder, team, cost_center, pool, tier, model, currency, 0, CAST(0 AS DECIMAL(38, 0)), gap_ms, gap_cost,
        CASE WHEN counted THEN gap_ms ELSE 0 END, CASE WHEN counted THEN gap_cost ELSE CAST(0 AS DECIMAL(38, 0)) END
    FROM gap_line
    UNION ALL
    -- a finding that costs nothing stands on the line of its run with the most held time
    SELECT h.rule, h.rank, h.holder, e.team, e.cost_center, e.pool, e.tier, e.model, coalesce(e.currency, '-'), 0,
        CAST(0 AS DECIMAL(38, 0)), 0, CAST(0 AS DECIMAL(38, 0)), 0, CAST(0 AS DECIMAL(38, 0))
    FROM head h
    JOIN evidence e ON e.holder = h.holder
    WHERE h.place = 1
),
summed AS (
    SELECT rule, rank, holder, team, cost_center, pool, tier, model, currency, CAST(sum(idle_ms) AS BIGINT) AS idle_ms,
        CAST(sum(waste_cost) AS DECIMAL(38, 0)) AS waste_cost, CAST(sum(gap_ms) AS BIGINT) AS gap_ms,
        CAST(sum(gap_cost) AS DECIMAL(38, 0)) AS gap_cost, CAST(sum(counted_gap_ms) AS BIGINT) AS counted_gap_ms,
        CAST(sum(counted_gap_cost) AS DECIMAL(38, 0)) AS counted_gap_cost
    FROM part
    GROUP BY rule, rank, holder, team, cost_center, pool, tier, model, currency
),
whole AS (
    SELECT *, sum(idle_ms) OVER (PARTITION BY rule, holder) AS all_idle_ms, sum(gap_ms) OVER (PARTITION BY rule, holder) AS all_gap_ms,
        row_number() OVER (PARTITION BY rule, holder ORDER BY idle_ms DESC, gap_ms DESC, team, cost_center, pool, tier, model, currency)
            AS place
    FROM summed
),
listed AS (
    SELECT * FROM whole
    WHERE rule NOT IN ('idle_since', 'low_use', 'sm_low_week', 'debug_left') OR all_idle_ms > 0 OR all_gap_ms > 0
)
SELECT w.rule, w.rank, coalesce(h.layer, 'card') AS layer, coalesce(h.cause, 'idle between its work') AS cause, w.holder,
    coalesce(r.cluster, '-') || '/' || CASE WHEN w.rule = 'resident_service'
        THEN coalesce(r.account, '-') || '/' || coalesce(r.workload_name, r.name, '-') ELSE coalesce(r.job_raw, '-') END AS subject,
    coalesce(r.job_raw, '-') AS job, coalesce(r.cluster, '-') AS cluster, coalesce(e.node, r.nodes, '-') AS node,
    coalesce(r.account, '-') AS account, coalesce(r."user", '-') AS "user", coalesce(r.queue, '-') AS queue,
    coalesce(r.qos, '-') AS qos, r.task_type, r.kind, coalesce(r.state, '-') AS state, coalesce(r.workload_kind, '-') AS workload_kind,
    coalesce(CAST(r.gpu_count AS VARCHAR), '-') AS gpus,
    w.team, w.cost_center, w.pool, w.tier, w.model, w.currency,
    coalesce(h.from_ms, e.from_ms, r.start_ms) AS from_ms, coalesce(h.to_ms, e.to_ms, r.end_ms) AS to_ms,
    coalesce(h.first_seen_ms, e.first_seen_ms) AS first_seen_ms,
    CASE WHEN w.place = 1 AND w.rule <> 'idle_other' THEN 1 ELSE 0 END AS findings,
    w.idle_ms, w.waste_cost, w.gap_ms, w.gap_cost, w.counted_gap_ms, w.counted_gap_cost,
    coalesce(h.coverage_ppm, e.coverage_ppm) AS coverage_ppm, h.value, h.threshold, h.unit,
    coalesce(h.evidence, 'idle between its work: ' || CAST(w.idle_ms / 3600000 AS VARCHAR) || '.'
        || CAST(w.idle_ms % 3600000 / 360000 AS VARCHAR) || ' GPU-hours that no rule explains') AS evidence,
    coalesce(h.remedy_en, 'Nothing to do unless it adds up: look at the job''s curve for pauses.') AS remedy_en,
    coalesce(h.remedy_zh, '通常无需处理；若累计较多，请查看作业曲线中的停顿。') AS remedy_zh,
    coalesce(n.state, 'open') AS note, n.reason AS note_reason, n.by AS note_by, n.from_ms AS note_ms
FROM listed w
LEFT JOIN head h ON h.rule = w.rule AND h.holder = w.holder AND h.place = 1
LEFT JOIN run r ON r.holder = w.holder
LEFT JOIN evidence e ON e.holder = w.holder
LEFT JOIN finding_note n ON n.rule = w.rule AND n.to_ms IS NULL
    AND n.subject = coalesce(r.cluster, '-') || '/' || CASE WHEN w.rule = 'resident_service'
        THEN coalesce(r.account, '-') || '/' || coalesce(r.workload_name, r.name, '-') ELSE coalesce(r.job_raw, '-') END
