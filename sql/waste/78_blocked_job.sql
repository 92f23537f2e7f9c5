-- The waiting requests that fragmentation blocked, by kind: for how long in the window, and what they asked for meanwhile in time of
-- whole cards. A request that several kinds block one after the other has a row for each.
-- grain: request x kind x size. units: ms, ms of whole cards, share units
-- inputs: fragment_hit, request
-- parameters: none
-- output: blocked_job
WITH blocked AS (
    SELECT job_id, kind, size AS cards, CAST(count(DISTINCT cell) * 900000 AS BIGINT) AS blocked_ms,
        CAST(sum(asked_ms) AS BIGINT) AS asked_ms
    FROM fragment_hit
    GROUP BY job_id, kind, size
)
SELECT r.cluster, b.kind, CASE WHEN b.cards > 0 THEN CAST(b.cards AS VARCHAR) ELSE '-' END AS size, r.job_raw AS job,
    coalesce(r."user", '-') AS "user", coalesce(r.account, '-') AS account, coalesce(r.queue, '-') AS queue,
    CAST(r.req_gpu_units / 72072000 AS VARCHAR) || CASE WHEN r.req_gpu_units % 72072000 = 0 THEN ''
        ELSE '.' || CAST(r.req_gpu_units % 72072000 / 7207200 AS VARCHAR) || CAST(r.req_gpu_units % 7207200 / 720720 AS VARCHAR) END AS gpus,
    b.blocked_ms, b.asked_ms, CASE WHEN r.waiting THEN 'yes' ELSE 'no' END AS still_waiting, coalesce(r.pending_reason, '-') AS reason
FROM blocked b
JOIN request r ON r.job_id = b.job_id
ORDER BY b.asked_ms DESC, r.cluster, r.job_raw, b.kind, b.cards, b.job_id
