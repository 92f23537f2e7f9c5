-- Everybody who can stand as a holder in usage: runs of schedulers, sessions and foreign use.
-- grain: holder. key: holder
-- inputs: scheduler_run, session_day
-- parameters: none
-- output: run
WITH sessions AS (
    SELECT holder, max(kind) AS kind, max(cluster) AS cluster, max(node) AS node, max("user") AS "user",
        max(command) AS command, max(hint) AS hint, min(from_ms) AS from_ms, max(to_ms) AS to_ms
    FROM session_day
    GROUP BY holder
)
SELECT holder, job_key, kind, cluster, job_raw, attempt, "user", account, queue, qos, name, labels, workload_kind,
    task_type, model, state, exit_code, first_submit_ms, submit_ms, eligible_ms, start_ms, end_ms, open, gpu_units,
    gpu_count, node_count, cpus, mem_bytes, gpu_mem_bytes, req_gpu_units, req_mem_bytes, req_gpu_mem_bytes,
    time_limit_ms, nodes, source,
    array_job, array_task, het_leader, workload_name, workload_uid, workload_replicas, priority_class, priority,
    pending_reason, reservation, comment, preemptible, last_checkpoint_ms, suspended_ms, last_seen_ms, end_reason,
    image_pull_ms, image_ready_ms, container_start_ms, req_model, req_nodes, req_cpus, limit_cpus_milli, limit_mem_bytes,
    sluid, original_sluid
FROM scheduler_run
UNION ALL
SELECT s.holder, s.holder AS job_key, s.kind, s.cluster, coalesce(s.hint, s.node), NULL, s."user", NULL, NULL, NULL, s.command, NULL,
    NULL, 'unknown', NULL, NULL, NULL, NULL, NULL, NULL, s.from_ms, s.to_ms, false, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, s.node, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL
FROM sessions s
ORDER BY holder
