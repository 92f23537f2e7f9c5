-- What was asked for, by the newest reading of each request record. It waited until its first run; one that is pending
-- waits until the newest successful look of its source (a live source writes again what changes), else until its own
-- as-of, and at most until the cluster's as-of; one that is over without a run (cancelled, taken out of the queue)
-- waited until it left, where its source says when. Else it, as one that stands for no task any more (all tasks of an array
-- have started), waited until the reading that says so.
-- grain: request record. key: job_id. units: epoch ms
-- inputs: job_now, scheduler_run, chain, look, as_of
-- parameters: none
-- output: request
WITH started AS (
    SELECT c.job_id, min(r.start_ms) AS start_ms, min(r.job_key) AS job_key
    FROM chain c
    JOIN scheduler_run r ON r.holder = c.allocation_id
    GROUP BY c.job_id
),
seen AS (
    SELECT j.*, s.start_ms, s.job_key,
        s.job_id IS NULL AND j.state = 'PENDING' AND j.tasks > 0 AS waiting,
        CASE WHEN l.seen_ms > j.as_of_ms THEN l.seen_ms ELSE j.as_of_ms END AS seen_ms, a.as_of_ms AS known_ms
    FROM job_now j
    LEFT JOIN started s ON s.job_id = j.job_id
    LEFT JOIN look l ON l.cluster = j.cluster AND l.source = j.source
    LEFT JOIN as_of a ON a.cluster = j.cluster
),
dated AS (
    SELECT *,
        CASE
            WHEN start_ms IS NOT NULL THEN start_ms
            WHEN NOT waiting AND gone_ms < as_of_ms THEN gone_ms
            WHEN NOT waiting THEN as_of_ms
            WHEN known_ms < seen_ms THEN known_ms
            ELSE seen_ms
        END AS until_ms
    FROM seen
)
SELECT job_id, coalesce(job_key, job_id) AS job_key, cluster, job_raw, state, waiting, tasks, submit_ms, eligible_ms,
    start_ms, CASE WHEN until_ms > submit_ms THEN until_ms ELSE submit_ms END AS waited_to_ms,
    "user", account, queue, qos, name, labels, workload_kind, workload_name, array_job, het_leader, req_gpu_units, req_model,
    req_nodes, req_cpus, req_mem_bytes, req_gpu_mem_bytes, time_limit_ms, priority, priority_class, reservation,
    pending_reason, source, as_of_ms
FROM dated
ORDER BY job_id
