-- Task type of a run: the first rule (lowest position) valid at the start of the run whose every given field
-- matches. A run that no rule matches is not listed here.
-- grain: run. key: allocation_id
-- inputs: run_now, job_now, task_type_rule
-- parameters: none
-- output: task_of
WITH matched AS (
    SELECT r.allocation_id, t.task_type,
        row_number() OVER (PARTITION BY r.allocation_id ORDER BY t.position, t.from_ms) AS place
    FROM run_now r
    JOIN job_now j ON j.job_id = r.job_id
    CROSS JOIN task_type_rule t
    WHERE r.start_ms >= t.from_ms
        AND (t.to_ms IS NULL OR r.start_ms < t.to_ms)
        AND (t.cluster IS NULL OR t.cluster = r.cluster)
        AND (t.queue IS NULL OR t.queue = j.queue)
        AND (t.qos IS NULL OR t.qos = j.qos)
        AND (t.account IS NULL OR t.account = j.account)
        AND (t.workload_kind IS NULL OR t.workload_kind = j.workload_kind)
        -- labels stand one a line: a label matches as a whole line
        AND (t.label IS NULL OR strpos(chr(10) || j.labels || chr(10), chr(10) || t.label || chr(10)) > 0)
        AND (t.name_regex IS NULL OR regexp_like(j.name, t.name_regex))
)
SELECT allocation_id, task_type
FROM matched
WHERE place = 1
