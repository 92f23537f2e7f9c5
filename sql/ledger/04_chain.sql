-- Runs of one job: a later record of a raw id is the same job if the run before it ended REQUEUED, PREEMPTED or
-- NODE_FAIL and it was submitted not before that end, or if Slurm says so (OriginalSLUID). Otherwise the id was
-- used again, and it is another job. Runs of one record (one submit) are one job in any case.
-- grain: run. key: allocation_id
-- inputs: run_now
-- parameters: none
-- output: chain
WITH ordered AS (
    SELECT allocation_id, job_id, cluster, job_raw, submit_ms, start_ms,
        CASE
            WHEN job_id = lag(job_id) OVER runs THEN 0
            WHEN original_sluid IS NOT NULL
                AND original_sluid = lag(coalesce(original_sluid, sluid)) OVER runs THEN 0
            WHEN lag(state) OVER runs IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL')
                AND submit_ms >= lag(end_ms) OVER runs THEN 0
            ELSE 1
        END AS first_run
    FROM run_now
    WINDOW runs AS (PARTITION BY cluster, job_raw ORDER BY start_ms, allocation_id)
),
numbered AS (
    SELECT *, sum(first_run) OVER (PARTITION BY cluster, job_raw ORDER BY start_ms, allocation_id) AS life
    FROM ordered
)
SELECT allocation_id, job_id,
    row_number() OVER life_runs AS attempt,
    first_value(job_id) OVER life_runs AS job_key,
    first_value(submit_ms) OVER life_runs AS first_submit_ms
FROM numbered
WINDOW life_runs AS (PARTITION BY cluster, job_raw, life ORDER BY start_ms, allocation_id)
