-- M3: what must be equal whatever the number of partitions: charges by everything they are kept by, in a total order.
-- grain: team x cost centre x pool x model x task type x rate version x price x day. units: ms, exact money
-- inputs: fact
-- parameters: none
-- output: charges
SELECT team, cost_center, pool, tier, model, task_type, rate_id, price_micros, discount, day, CAST(sum(held_ms) AS BIGINT) AS held_ms,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(effective_ms) AS BIGINT) AS effective_ms,
    CAST(sum(held_cost) AS DECIMAL(38, 0)) AS held_cost,
    CAST(sum(billed_cost) AS DECIMAL(38, 0)) AS billed_cost
FROM fact
GROUP BY team, cost_center, pool, tier, model, task_type, rate_id, price_micros, discount, day
ORDER BY team, cost_center, pool, tier, model, task_type, rate_id, price_micros, discount, day
