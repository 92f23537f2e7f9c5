-- What freed GPU-time is worth: each case at the price that holds when its GPUs were seen free, by the most specific row that names
-- no tier (team, then task type, pool, model). No price: unpriced. It is an estimate, and no bill.
-- grain: case. key: case_id. units: GPU-ms, millionths of the currency per GPU-hour, exact money
-- inputs: won, rate
-- parameters: none
-- output: recovered
WITH ranked AS (
    SELECT w.case_id, w.gpu_ms, r.price_micros, r.currency,
        row_number() OVER (
            PARTITION BY w.case_id
            ORDER BY CASE WHEN r.team IS NULL THEN 0 ELSE 16 END + CASE WHEN r.task_type IS NULL THEN 0 ELSE 8 END
                + CASE WHEN r.pool IS NULL THEN 0 ELSE 4 END + CASE WHEN r.model IS NULL THEN 0 ELSE 2 END DESC, r.rate_id
        ) AS place
    FROM won w
    LEFT JOIN rate r ON r.tier IS NULL AND (r.team IS NULL OR r.team = w.team)
        AND (r.task_type IS NULL OR r.task_type = w.task_type) AND (r.pool IS NULL OR r.pool = w.pool)
        AND (r.model IS NULL OR r.model = w.model)
        AND r.from_ms <= w.freed_ms AND (r.to_ms IS NULL OR r.to_ms > w.freed_ms)
)
SELECT case_id, price_micros, currency,
    CAST(gpu_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0)) AS amount
FROM ranked
WHERE place = 1
ORDER BY case_id
