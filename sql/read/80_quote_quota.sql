-- Quotas of a team, for the quote of a run of its.
-- grain: pool x interval. units: GPUs, ppm, epoch ms
-- inputs: quota
-- parameters: team VARCHAR
-- output: quote_quota
SELECT team, pool, gpus, pool_share_ppm, from_ms, to_ms
FROM quota
WHERE team = CAST($team AS VARCHAR)
ORDER BY pool, from_ms
