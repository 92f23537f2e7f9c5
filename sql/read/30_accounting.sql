-- Accounting of runs in a window, one row per run and local day: wall, CPU, node and GPU time on the day they passed,
-- jobs ended on the day they ended, waits on the day the run started.
-- A run that was put back into the queue is no ended job; it is its job's later run that ends it.
-- grain: run x local day. units: ms (GPU time in ms of a whole card)
-- inputs: run, calendar_day, run_team
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: accounting
WITH on_day AS (
    SELECT r.*, d.day, d.month,
        CASE WHEN r.start_ms > d.from_ms THEN r.start_ms ELSE d.from_ms END AS a_ms,
        CASE WHEN r.end_ms < d.to_ms THEN r.end_ms ELSE d.to_ms END AS b_ms,
        r.start_ms >= d.from_ms AND r.start_ms < d.to_ms AS starts,
        r.end_ms >= d.from_ms AND r.end_ms < d.to_ms AS ends
    FROM run r
    JOIN calendar_day d ON r.start_ms < d.to_ms AND r.end_ms >= d.from_ms
    WHERE r.kind = 'scheduler' AND r.start_ms < CAST($to_ms AS BIGINT) AND r.end_ms >= CAST($from_ms AS BIGINT)
)
SELECT o.holder, o.day, o.month, coalesce(o.cluster, '-') AS cluster, coalesce(o.account, '-') AS account,
    coalesce(o."user", '-') AS "user", coalesce(o.queue, '-') AS queue, coalesce(o.qos, '-') AS qos,
    coalesce(CAST(o.gpu_count AS VARCHAR), '-') AS gpus, coalesce(o.state, '-') AS state,
    coalesce(o.model, '-') AS model, o.task_type, o.job_raw AS job, coalesce(o.workload_kind, '-') AS workload_kind,
    coalesce(t.team, 'unassigned') AS team, coalesce(t.cost_center, '-') AS cost_center,
    CASE WHEN o.ends AND NOT o.open AND o.state <> 'REQUEUED' THEN 1 ELSE 0 END AS jobs_ended,
    o.b_ms - o.a_ms AS wall_ms,
    (o.b_ms - o.a_ms) * o.cpus AS cpu_ms,
    (o.b_ms - o.a_ms) * o.node_count AS node_ms,
    CAST(CAST(o.b_ms - o.a_ms AS DECIMAL(38, 0)) * o.gpu_units AS DECIMAL(38, 0)) AS gpu_unit_ms,
    CASE WHEN o.starts THEN o.start_ms - o.eligible_ms END AS wait_ms,
    CASE WHEN o.starts THEN o.start_ms - o.submit_ms END AS wait_from_submit_ms
FROM on_day o
LEFT JOIN run_team t ON t.holder = o.holder
WHERE o.b_ms > o.a_ms OR o.starts OR o.ends
