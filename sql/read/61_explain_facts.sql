-- The facts of one run.
-- grain: one row
-- inputs: run
-- parameters: holder BIGINT
-- output: facts
SELECT holder AS allocation, kind, cluster, job_raw AS job, attempt, "user", account, queue, qos, name, task_type, model,
    state, exit_code, nodes, CAST(gpu_count AS VARCHAR) AS gpus, first_submit_ms, submit_ms, eligible_ms, start_ms, end_ms,
    open, time_limit_ms, source
FROM run
WHERE holder = CAST($holder AS BIGINT)
