-- Charge lines of one run: per local day, team, pool and rate version, with the exact money.
-- grain: day x team x rate version. units: ms, exact money (currency x 3 600 000 x 10^6)
-- inputs: fact
-- parameters: holder BIGINT
-- output: lines
SELECT day, team, cost_center, pool, model, task_type, rate_id, price_micros, currency,
    CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
    CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms, CAST(sum(held_cost) AS DECIMAL(38, 0)) AS held_cost
FROM fact
WHERE holder = CAST($holder AS BIGINT)
GROUP BY day, team, cost_center, pool, model, task_type, rate_id, price_micros, currency
ORDER BY day, team, cost_center, pool, model, rate_id
