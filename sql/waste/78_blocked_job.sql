-- The waiting requests that fragmentation blocked, by kind: for how long in the window, and what they asked for meanwhile in time of
-- whole cards. A request that several kinds block one after the other has a row for each.
-- grain: request x kind x size. units: ms, ms of whole cards, share units
-- inputs: fragment_hit, request
-- parameters: none
-- output: blocked_job
SELECT h.cluster, h.kind, CASE WHEN h.size > 0 THEN CAST(h.size AS VARCHAR) ELSE '-' END AS size, r.job_raw AS job,
    coalesce(r."user", '-') AS "user", coalesce(r.account, '-') AS account, coalesce(r.queue, '-') AS queue,
    CAST(r.req_gpu_units / 72072000 AS VARCHAR) || CASE WHEN r.req_gpu_units % 72072000 = 0 THEN ''
        ELSE '.' || CAST(r.req_gpu_units % 72072000 / 7207200 AS VARCHAR) || CAST(r.req_gpu_units % 7207200 / 720720 AS VARCHAR) END AS gpus,
    CAST(count(DISTINCT h.cell) * 900000 AS BIGINT) AS blocked_ms, CAST(sum(h.asked_ms) AS BIGINT) AS asked_ms,
    CASE WHEN r.waiting THEN 'yes' ELSE 'no' END AS still_waiting, coalesce(r.pending_reason, '-') AS reason
FROM fragment_hit h
JOIN request r ON r.job_id = h.job_id
GROUP BY h.cluster, h.kind, h.size, h.job_id, r.job_raw, r."user", r.account, r.queue, r.req_gpu_units, r.waiting, r.pending_reason
ORDER BY sum(h.asked_ms) DESC, h.cluster, h.kind, h.size, r.job_raw, h.job_id
