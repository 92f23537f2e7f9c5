-- The 95th percentile of waits per group, exact by nearest rank: of n waits in order the one at place ceil(0.95 n). What a
-- group is made of is said by the parameters; what it is not made of is an empty text.
-- grain: group. units: ms
-- inputs: job_wait
-- parameters: by_pool BOOLEAN, by_tier BOOLEAN, by_queue BOOLEAN, by_team BOOLEAN, by_task_type BOOLEAN, by_model BOOLEAN, by_cluster BOOLEAN
-- output: wait_rank
WITH keyed AS (
    SELECT CASE WHEN CAST($by_pool AS BOOLEAN) THEN pool ELSE '' END AS pool,
        CASE WHEN CAST($by_tier AS BOOLEAN) THEN tier ELSE '' END AS tier,
        CASE WHEN CAST($by_queue AS BOOLEAN) THEN queue ELSE '' END AS queue,
        CASE WHEN CAST($by_team AS BOOLEAN) THEN team ELSE '' END AS team,
        CASE WHEN CAST($by_task_type AS BOOLEAN) THEN task_type ELSE '' END AS task_type,
        CASE WHEN CAST($by_model AS BOOLEAN) THEN model ELSE '' END AS model,
        CASE WHEN CAST($by_cluster AS BOOLEAN) THEN cluster ELSE '' END AS cluster,
        wait_ms
    FROM job_wait
    WHERE wait_ms IS NOT NULL
),
ranked AS (
    SELECT *,
        row_number() OVER (PARTITION BY pool, tier, queue, team, task_type, model, cluster ORDER BY wait_ms) AS place,
        count(*) OVER (PARTITION BY pool, tier, queue, team, task_type, model, cluster) AS n
    FROM keyed
)
SELECT pool, tier, queue, team, task_type, model, cluster, wait_ms AS wait_p95_ms
FROM ranked
WHERE place = (95 * n + 99) / 100
