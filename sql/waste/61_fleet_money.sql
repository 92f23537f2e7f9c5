-- Money of the fleet by everything that fleet indicators are grouped by, from priced facts: what the judged held time cost
-- beside the effective time that came of it (only where both a price and an effective time are known), and what held time
-- that nobody used cost. gap_ms: judged less effective time, the request gap.
-- grain: pool x tier x queue x team x task type x model x cluster. units: ms, exact money
-- inputs: fact, unit
-- parameters: none
-- output: fleet_money
WITH placed AS (
    SELECT f.pool, f.tier, CASE WHEN f.queue = '-' THEN coalesce(u.queue, '-') ELSE f.queue END AS queue, f.team,
        CASE WHEN f.holder = 0 THEN '-' ELSE f.task_type END AS task_type, f.model, f.cluster, f.holder, f.judged_ms,
        f.effective_ms, f.price_micros, f.waste_cost
    FROM fact f
    LEFT JOIN unit u ON u.unit_id = f.unit_id
)
SELECT pool, tier, queue, team, task_type, model, cluster,
    CAST(sum(CASE WHEN effective_ms IS NOT NULL
        THEN CAST(judged_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0)) END) AS DECIMAL(38, 0)) AS judged_cost,
    CAST(sum(CASE WHEN price_micros IS NOT NULL THEN effective_ms END) AS BIGINT) AS priced_effective_ms,
    CAST(sum(CASE WHEN holder <> 0 THEN waste_cost END) AS DECIMAL(38, 0)) AS waste_cost,
    CAST(sum(CASE WHEN effective_ms IS NOT NULL THEN judged_ms - effective_ms END) AS BIGINT) AS gap_ms
FROM placed
GROUP BY pool, tier, queue, team, task_type, model, cluster
