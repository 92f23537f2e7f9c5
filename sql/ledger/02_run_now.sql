-- The reading of each run that counts: terminal beats running, then the newer as-of; the rest of the order only
-- makes it total, so that the order of arrival never shows.
-- A run without a recorded end counts to the as-of of the newest reading that saw it.
-- grain: run. key: allocation_id. units: epoch ms
-- inputs: allocation
-- parameters: none
-- output: run_now
WITH ranked AS (
    SELECT *,
        row_number() OVER (
            PARTITION BY allocation_id
            ORDER BY terminal DESC, as_of_ms DESC, end_ms DESC NULLS LAST, gpu_units DESC, state, job_id, source
        ) AS place
    FROM allocation
)
SELECT allocation_id, job_id, hint_id, cluster, job_raw, submit_ms, start_ms,
    CASE WHEN coalesce(end_ms, as_of_ms) > start_ms THEN coalesce(end_ms, as_of_ms) ELSE start_ms END AS end_ms,
    end_ms IS NULL AS open,
    state, exit_code, nodes, node_count, gpu_units, gpu_count, model, cpus, mem_bytes, gpu_mem_bytes,
    sluid, original_sluid, source, as_of_ms
FROM ranked
WHERE place = 1
