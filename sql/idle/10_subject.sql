-- What is judged: whoever holds GPUs at that instant, each with the policy that speaks of it (the most specific of those that hold:
-- team, then queue, then task type, then pool, then cluster) and its windows. cards: how many of its GPUs are known by name.
-- grain: run. key: holder. units: epoch ms, ms, ppm
-- inputs: standing, run_place, idle_card, idle_policy
-- parameters: at_ms BIGINT
-- output: idle_subject
WITH named AS (
    SELECT holder, count(DISTINCT device_id) AS cards FROM idle_card GROUP BY holder
),
placed AS (
    SELECT r.holder, r.kind, r.cluster, r.job_raw, r.queue, r.task_type, p.team, p.pool, r.gpu_count, r.gpu_units, r.start_ms,
        coalesce(n.cards, 0) AS cards
    FROM standing r
    JOIN run_place p ON p.holder = r.holder
    LEFT JOIN named n ON n.holder = r.holder
),
ranked AS (
    SELECT s.*, i.policy, i.never_ms, i.idle_ms, i.active_ms, i.low_use_ppm,
        row_number() OVER (
            PARTITION BY s.holder
            ORDER BY i.team IS NULL, i.queue IS NULL, i.task_type IS NULL, i.pool IS NULL, i.cluster IS NULL, i.policy
        ) AS place
    FROM placed s
    JOIN idle_policy i ON (i.team IS NULL OR i.team = s.team) AND (i.queue IS NULL OR i.queue = s.queue)
        AND (i.task_type IS NULL OR i.task_type = s.task_type) AND (i.pool IS NULL OR i.pool = s.pool)
        AND (i.cluster IS NULL OR i.cluster = s.cluster)
    WHERE i.from_ms <= CAST($at_ms AS BIGINT) AND (i.to_ms IS NULL OR i.to_ms > CAST($at_ms AS BIGINT))
)
SELECT holder, kind, cluster, job_raw, queue, task_type, team, pool, gpu_count, gpu_units, start_ms, cards, policy, never_ms,
    idle_ms, active_ms, low_use_ppm
FROM ranked
WHERE place = 1
