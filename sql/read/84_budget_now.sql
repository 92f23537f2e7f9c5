-- Budgets that hold up to an instant: it lies after their start, and not after their end.
-- grain: team. units: millionths of the currency, GPU-hours, epoch ms
-- inputs: budget
-- parameters: at_ms BIGINT
-- output: budget_now
SELECT team, amount_micros, gpu_hours, alert_at, from_ms, to_ms
FROM budget
WHERE from_ms < CAST($at_ms AS BIGINT) AND to_ms >= CAST($at_ms AS BIGINT)
ORDER BY team
