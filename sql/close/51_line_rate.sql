-- The rate of a line.
-- grain: rate. units: price_micros per GPU-hour, epoch ms
-- inputs: rate
-- parameters: rate_id BIGINT
-- output: line_rate
SELECT rate_id, team, task_type, pool, model, tier, price_micros, currency, from_ms, to_ms
FROM rate
WHERE rate_id = CAST($rate_id AS BIGINT)
