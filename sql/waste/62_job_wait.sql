-- How long each GPU run that started in the window had waited (start - eligible; absent where no eligible time is known)
-- against how long it ran, and what that wait was worth beyond the run: max(0, wait - run) x GPUs asked, for runs that are
-- over. Its dimensions are those of the part of the run with the most held time.
-- A request that still waits at the end of what is known stands with the time it waited inside the window x GPUs asked;
-- where it will run nobody knows, so that of its dimensions only cluster and queue are known.
-- grain: run, or waiting request. units: ms, share units x ms
-- inputs: run_gap, run, request
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: job_wait
WITH started AS (
    SELECT g.pool, g.tier, g.queue, g.team, g.task_type, g.model, g.cluster, r.start_ms - r.eligible_ms AS wait_ms,
        r.end_ms - r.start_ms AS run_ms, coalesce(r.req_gpu_units, r.gpu_units) AS units, r.open
    FROM run_gap g
    JOIN run r ON r.holder = g.holder
    WHERE g.runs = 1 AND r.kind = 'scheduler' AND r.gpu_units > 0
        AND r.start_ms >= CAST($from_ms AS BIGINT) AND r.start_ms < CAST($to_ms AS BIGINT)
),
waiting AS (
    SELECT cluster, coalesce(queue, '-') AS queue, req_gpu_units * tasks AS units,
        CASE WHEN coalesce(eligible_ms, submit_ms) > CAST($from_ms AS BIGINT) THEN coalesce(eligible_ms, submit_ms)
            ELSE CAST($from_ms AS BIGINT) END AS from_ms,
        CASE WHEN waited_to_ms < CAST($to_ms AS BIGINT) THEN waited_to_ms ELSE CAST($to_ms AS BIGINT) END AS to_ms
    FROM request
    WHERE waiting AND req_gpu_units > 0
)
SELECT pool, tier, queue, team, task_type, model, cluster, 1 AS started, 0 AS waiting, wait_ms,
    CASE WHEN wait_ms IS NULL THEN 0 ELSE 1 END AS wait_known, CASE WHEN wait_ms IS NOT NULL THEN run_ms END AS run_ms,
    CAST(CAST(wait_ms AS DECIMAL(38, 0)) * CAST(units AS DECIMAL(20, 0)) AS DECIMAL(38, 0)) AS wait_unit_ms,
    CASE WHEN open THEN NULL WHEN wait_ms > run_ms
        THEN CAST(wait_ms - run_ms AS DECIMAL(38, 0)) * CAST(units AS DECIMAL(20, 0))
        WHEN wait_ms IS NOT NULL THEN CAST(0 AS DECIMAL(38, 0)) END AS waiting_loss_unit_ms,
    CAST(NULL AS DECIMAL(38, 0)) AS still_waiting_unit_ms
FROM started
UNION ALL
SELECT '-', '-', queue, '-', '-', '-', cluster, 0, 1, NULL, 0, NULL, NULL, NULL,
    CAST(CAST(to_ms - from_ms AS DECIMAL(38, 0)) * CAST(units AS DECIMAL(20, 0)) AS DECIMAL(38, 0))
FROM waiting
WHERE to_ms > from_ms
