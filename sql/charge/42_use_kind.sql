-- Kinds of use: every distinct set of what a price or a line depends on, numbered in order of its key.
-- grain: kind of use. key: use_no
-- inputs: placed, reserve_kind
-- parameters: none
-- output: use_kind
WITH kind AS (
    SELECT DISTINCT use_key, rate_key, team, cost_center, task_type, pool, model, tier, mode, share_unallocated,
        share_unavailable, share_unobserved, kwh_micros, preemptible, nobody, false AS reserved
    FROM placed
    UNION ALL
    SELECT DISTINCT use_key, rate_key, team, cost_center, CAST(NULL AS VARCHAR), pool, model, tier, mode, share_unallocated,
        share_unavailable, share_unobserved, CAST(NULL AS BIGINT), false, false, true
    FROM reserve_kind
)
SELECT CAST(row_number() OVER (ORDER BY use_key) AS BIGINT) AS use_no, *
FROM kind
