-- The reading of each request record that counts: the newest as-of; the rest only makes the order total.
-- grain: request record. key: job_id
-- inputs: job
-- parameters: none
-- output: job_now
WITH ranked AS (
    SELECT *,
        row_number() OVER (PARTITION BY job_id ORDER BY as_of_ms DESC, state, tasks, name, source) AS place
    FROM job
)
SELECT job_id, cluster, job_raw, submit_ms, eligible_ms, het_leader, array_job, array_task, tasks, state, "user",
    account, queue, qos, name, labels, workload_kind, req_gpu_units, req_model, req_mem_bytes, req_gpu_mem_bytes,
    req_cpus, req_nodes, time_limit_ms, gone_ms, pending_reason, workload_uid, workload_name, workload_replicas,
    priority, priority_class, reservation, comment, limit_cpus_milli, limit_mem_bytes, source, as_of_ms
FROM ranked
WHERE place = 1
