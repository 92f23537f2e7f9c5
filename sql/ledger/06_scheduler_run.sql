-- Facts of every run that a scheduler (or a job table) recorded. The components of a het job are one job.
-- prev_end_ms: end of the runs before it with the same hint; a tick that begins after it and reaches into this run
-- is this run's. A run without length (ended as it began) takes no tick.
-- grain: run. key: holder
-- inputs: run_now, job_now, chain, task_of
-- parameters: none
-- output: scheduler_run
WITH leader AS (
    -- het components point at the leader's record of the same submit
    SELECT c.allocation_id, lc.job_key
    FROM run_now c
    JOIN job_now j ON j.job_id = c.job_id
    JOIN job_now l ON l.cluster = j.cluster AND l.job_raw = j.het_leader AND l.submit_ms = j.submit_ms
    JOIN chain lc ON lc.job_id = l.job_id
    WHERE j.het_leader IS NOT NULL
    GROUP BY c.allocation_id, lc.job_key
)
SELECT r.allocation_id AS holder,
    coalesce(l.job_key, c.job_key) AS job_key,
    'scheduler' AS kind,
    r.cluster, r.job_raw, CAST(c.attempt AS BIGINT) AS attempt,
    j."user", j.account, j.queue, j.qos, j.name, j.labels, j.workload_kind,
    coalesce(t.task_type, 'unknown') AS task_type,
    coalesce(r.model, j.req_model) AS model, r.state, r.exit_code,
    c.first_submit_ms, r.submit_ms, j.eligible_ms, r.start_ms, r.end_ms, r.open,
    r.gpu_units, r.gpu_count, r.node_count, r.cpus, r.mem_bytes, r.gpu_mem_bytes,
    j.req_gpu_units, j.req_mem_bytes, j.req_gpu_mem_bytes, j.time_limit_ms, r.nodes, r.source,
    j.array_job, j.array_task, j.het_leader, j.workload_name, j.workload_uid, j.workload_replicas, j.priority_class,
    j.priority, j.pending_reason, j.reservation, j.comment, r.preemptible, r.last_checkpoint_ms, r.suspended_ms,
    r.last_seen_ms, r.end_reason, r.image_pull_ms, r.image_ready_ms, r.container_start_ms, j.req_model, j.req_nodes,
    j.req_cpus, j.limit_cpus_milli, j.limit_mem_bytes, r.sluid, r.original_sluid, r.hint_id,
    coalesce(max(CASE WHEN r.end_ms > r.start_ms THEN r.end_ms END) OVER (
        PARTITION BY r.hint_id ORDER BY r.start_ms, r.allocation_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS prev_end_ms
FROM run_now r
JOIN chain c ON c.allocation_id = r.allocation_id
LEFT JOIN leader l ON l.allocation_id = r.allocation_id
LEFT JOIN job_now j ON j.job_id = r.job_id
LEFT JOIN task_of t ON t.allocation_id = r.allocation_id
