-- Charges with everything by which a report groups them, and their exact money: ms x price_micros, which is
-- currency units x 3 600 000 x 10^6. Time without a price has no money here and is listed as unpriced.
-- What of held time is billed goes by the pool's mode: `held` all of it; `busy` what ran, while what was idle is unbilled and what
-- nobody measured is to settle; `quota` what was held above the quota, because reserved capacity pays for the rest; `showback`
-- nothing. Foreign use that nobody owns is billed to nobody. In every mode billed + unbilled + to settle is what was held x
-- price, so that with unallocated, unavailable and unobserved it is what the fleet cost. List money is what is billed (showback: what was
-- held) at the rate's price; what nobody used, and a failed card that somebody held, cost that price. Energy cost is in currency units x 3 600 000 000 x 10^6.
-- grain: charge. units: ms, exact money
-- inputs: charge, tariff, use_kind, run, unit
-- parameters: none
-- output: fact
WITH priced AS (
    SELECT c.*, t.team, t.cost_center, t.pool, t.tier, t.model, coalesce(t.task_type, 'unknown') AS task_type, t.mode, t.rate_id,
        t.list_price_micros, t.price_micros, t.discount, t.currency, t.borrowed, k.kwh_micros,
        CASE WHEN c.holder = 0 OR NOT t.payer THEN 0 WHEN t.mode = 'held' THEN c.held_ms WHEN t.mode = 'busy' THEN c.busy_ms
            WHEN t.mode = 'quota' AND t.borrowed THEN c.held_ms ELSE 0 END AS billed_ms,
        CASE WHEN c.holder <> 0 AND t.payer AND t.mode = 'busy' THEN c.held_unmeasured_ms ELSE 0 END AS to_settle_ms,
        CASE WHEN c.holder <> 0 AND t.payer AND t.mode = 'showback' THEN c.held_ms ELSE 0 END AS shown_ms
    FROM tariff t
    JOIN use_kind k ON k.use_no = t.use_no
    JOIN charge c ON c.tariff_no = t.tariff_no
)
SELECT coalesce(c.team, '(platform)') AS team, coalesce(c.cost_center, '-') AS cost_center, c.pool,
    coalesce(c.tier, '-') AS tier, coalesce(c.model, '-') AS model, c.task_type, c.mode,
    c.local_day AS day, c.local_month AS month, c.rate_id, c.list_price_micros, c.price_micros, c.discount, c.currency,
    c.borrowed, c.holder, c.unit_id,
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
    CASE WHEN c.holder <> 0 THEN c.unavailable_ms ELSE 0 END AS lost_ms,
    CAST(c.held_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS held_cost,
    CAST(c.held_idle_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS waste_cost,
    CAST(c.billed_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS billed_cost,
    CAST(c.to_settle_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS to_settle_cost,
    CAST(c.held_ms - c.billed_ms - c.to_settle_ms AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS unbilled_cost,
    CAST(c.billed_ms + c.shown_ms AS DECIMAL(38, 0)) * CAST(c.list_price_micros AS DECIMAL(20, 0)) AS list_cost,
    CAST(c.unallocated_ms AS DECIMAL(38, 0)) * CAST(c.list_price_micros AS DECIMAL(20, 0)) AS unallocated_cost,
    CAST(c.unavailable_ms AS DECIMAL(38, 0)) * CAST(c.list_price_micros AS DECIMAL(20, 0)) AS unavailable_cost,
    CAST(c.unobserved_ms AS DECIMAL(38, 0)) * CAST(c.list_price_micros AS DECIMAL(20, 0)) AS unobserved_cost,
    CAST(CASE WHEN c.holder <> 0 THEN c.unavailable_ms ELSE 0 END AS DECIMAL(38, 0))
        * CAST(c.list_price_micros AS DECIMAL(20, 0)) AS lost_cost,
    CAST(c.energy_mj AS DECIMAL(38, 0)) * CAST(c.kwh_micros AS DECIMAL(20, 0)) AS energy_cost,
    CAST(c.judged_ms - coalesce(c.effective_ms, 0) AS DECIMAL(38, 0)) * CAST(c.price_micros AS DECIMAL(20, 0)) AS gap_cost
FROM priced c
LEFT JOIN run r ON r.holder = c.holder
LEFT JOIN unit u ON u.unit_id = c.unit_id
