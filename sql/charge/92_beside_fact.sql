-- Money that is no holder's, as a report groups it: beside `fact`, with which it adds up to statements and to what the fleet cost.
-- shared_cost: what a team takes over of what nobody used (in billed_cost); shared_out_cost: the same with the platform, negative.
-- grain: item. units: ms, exact money
-- inputs: beside
-- parameters: none
-- output: beside_fact
WITH exact AS (
    SELECT *, CAST(quantity_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0)) AS exact,
        CAST(quantity_ms AS DECIMAL(38, 0)) * CAST(list_price_micros AS DECIMAL(20, 0)) AS list_exact
    FROM beside
)
SELECT coalesce(team, '(platform)') AS team, coalesce(cost_center, '-') AS cost_center, pool, coalesce(tier, '-') AS tier,
    coalesce(model, '-') AS model, '-' AS task_type, mode, local_day AS day, local_month AS month, '-' AS cluster, '-' AS node,
    '-' AS device, '-' AS account, '-' AS "user", '-' AS queue, '-' AS qos, '-' AS gpus, '-' AS state, 'nobody' AS kind, '-' AS job,
    '-' AS workload_kind,
    CASE WHEN kind = 'reserved' THEN quantity_ms ELSE 0 END AS reserved_ms,
    CASE WHEN NOT platform THEN exact ELSE 0 END AS billed_cost,
    CASE WHEN NOT platform THEN list_exact ELSE 0 END AS list_cost,
    CASE WHEN kind = 'unbilled_held' THEN exact ELSE 0 END AS unbilled_cost,
    CASE WHEN kind = 'unallocated' THEN exact ELSE 0 END AS unallocated_cost,
    CASE WHEN kind = 'unavailable' THEN exact ELSE 0 END AS unavailable_cost,
    CASE WHEN kind = 'unobserved' THEN exact ELSE 0 END AS unobserved_cost,
    CASE WHEN kind IN ('shared_unallocated', 'shared_unavailable', 'shared_unobserved') THEN exact ELSE 0 END AS shared_cost,
    CASE WHEN kind = 'shared_out' THEN exact ELSE 0 END AS shared_out_cost
FROM exact
