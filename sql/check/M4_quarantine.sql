-- M4: input that was set aside is a line too, and so is a run without a recorded end and a job that never started.
-- grain: line
-- inputs: quarantine, run, job
-- parameters: none
-- output: listed
SELECT 'quarantined' AS what, source AS place, count(*) AS n FROM quarantine GROUP BY source
UNION ALL
SELECT 'end not recorded', cluster, count(*) FROM run WHERE open AND kind = 'scheduler' GROUP BY cluster
UNION ALL
SELECT 'never started', j.cluster, CAST(sum(j.tasks) AS BIGINT)
FROM (
    -- the newest reading of a record: a pending array shrinks as its tasks start
    SELECT cluster, job_raw, submit_ms, tasks,
        row_number() OVER (PARTITION BY job_id ORDER BY as_of_ms DESC, state, tasks, name, source) AS place
    FROM job
) j
LEFT JOIN run r ON r.cluster = j.cluster AND r.job_raw = j.job_raw AND r.submit_ms = j.submit_ms
WHERE r.holder IS NULL AND j.place = 1
GROUP BY j.cluster
ORDER BY what, place
