-- The reading of each run that counts: terminal beats running, then the newer as-of; the rest of the order only
-- makes it total, so that the order of arrival never shows.
-- A run without a recorded end counts to the last look that showed it (where a later one did not), else to the newest
-- successful look of its source (what a live source does not write again has not changed), else to its own as-of.
-- grain: run. key: allocation_id. units: epoch ms
-- inputs: allocation, look
-- parameters: none
-- output: run_now
WITH ranked AS (
    SELECT *,
        row_number() OVER (
            PARTITION BY allocation_id
            ORDER BY terminal DESC, as_of_ms DESC, end_ms DESC NULLS LAST, gpu_units DESC, state, job_id, source
        ) AS place
    FROM allocation
),
ended AS (
    SELECT r.*,
        CASE
            WHEN r.end_ms IS NOT NULL THEN r.end_ms
            WHEN r.last_seen_ms IS NOT NULL THEN r.last_seen_ms
            WHEN l.seen_ms > r.as_of_ms THEN l.seen_ms
            ELSE r.as_of_ms
        END AS until_ms
    FROM ranked r
    LEFT JOIN look l ON l.cluster = r.cluster AND l.source = r.source
    WHERE r.place = 1
)
SELECT allocation_id, job_id, hint_id, cluster, job_raw, submit_ms, start_ms,
    CASE WHEN until_ms > start_ms THEN until_ms ELSE start_ms END AS end_ms,
    end_ms IS NULL AS open,
    state, exit_code, nodes, node_count, gpu_units, gpu_count, model, cpus, mem_bytes, gpu_mem_bytes, preemptible,
    last_checkpoint_ms, suspended_ms, last_seen_ms, end_reason, image_pull_ms, image_ready_ms, container_start_ms,
    sluid, original_sluid, source, as_of_ms
FROM ended
