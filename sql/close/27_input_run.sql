-- Who held in a period's days, with everything about them that money looks at. The same rows at two moments, over the same cells
-- and the same reference rows, are the same money: then a closed period needs no new look.
-- grain: holder
-- inputs: usage, run
-- parameters: from_day INT, to_day INT
-- output: input_run
SELECT holder, kind, cluster, job_raw, account, "user", labels, queue, model, task_type, preemptible, start_ms
FROM run
WHERE holder IN (SELECT holder FROM usage WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT))
ORDER BY holder
