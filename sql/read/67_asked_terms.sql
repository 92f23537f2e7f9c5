-- Terms as somebody asks what they would give, instead of what each pool has: the mode, and who bears what nobody used. An empty
-- word leaves what the pool has. It runs only for such a question; bills and closes never ask.
-- grain: pool x epoch. key: pool, epoch_ms. units: millionths of the currency a kWh
-- inputs: pool_terms
-- parameters: mode VARCHAR, share VARCHAR
-- output: pool_terms
SELECT pool, epoch_ms, CASE WHEN CAST($mode AS VARCHAR) = '' THEN mode ELSE CAST($mode AS VARCHAR) END AS mode,
    CASE WHEN CAST($share AS VARCHAR) = '' THEN share_unallocated ELSE CAST($share AS VARCHAR) END AS share_unallocated,
    CASE WHEN CAST($share AS VARCHAR) = '' THEN share_unavailable ELSE CAST($share AS VARCHAR) END AS share_unavailable,
    CASE WHEN CAST($share AS VARCHAR) = '' THEN share_unobserved ELSE CAST($share AS VARCHAR) END AS share_unobserved, kwh_micros
FROM pool_terms
