-- Requests for GPUs that waited through a whole cell of the window: from the time they could have started (else their
-- submit) to their start, or to the last look that shows them waiting. A request for less than one card asks for a part.
-- over_quota: the scheduler's own reason names a limit of an account, QoS or quota.
-- grain: request x cell. units: cards, share units, bytes
-- inputs: request
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: pending_cell
WITH clipped AS (
    SELECT job_id, cluster, tasks, req_gpu_units, req_model, queue, pending_reason,
        CASE WHEN req_nodes > 1 AND req_gpu_units % (72072000 * req_nodes) = 0 THEN req_nodes ELSE 1 END AS nodes,
        CASE WHEN req_gpu_mem_bytes IS NOT NULL AND req_gpu_units >= 72072000
            THEN req_gpu_mem_bytes / (req_gpu_units / 72072000) ELSE req_gpu_mem_bytes END AS card_bytes,
        CASE WHEN coalesce(eligible_ms, submit_ms) > CAST($from_ms AS BIGINT) THEN coalesce(eligible_ms, submit_ms)
            ELSE CAST($from_ms AS BIGINT) END AS from_ms,
        CASE WHEN waited_to_ms < CAST($to_ms AS BIGINT) THEN waited_to_ms ELSE CAST($to_ms AS BIGINT) END AS to_ms
    FROM request
    WHERE req_gpu_units > 0 AND coalesce(eligible_ms, submit_ms) < CAST($to_ms AS BIGINT)
        AND waited_to_ms > CAST($from_ms AS BIGINT)
)
SELECT job_id, cluster, tasks, req_gpu_units AS units, (req_gpu_units + 72071999) / 72072000 AS cards,
    req_gpu_units < 72072000 AS is_part, nodes, req_model, card_bytes, queue,
    coalesce(regexp_like(pending_reason, '^(QOS|Assoc|Reserv)|[Qq]uota'), false) AS over_quota,
    unnest(range((from_ms + 899999) / 900000, to_ms / 900000)) AS cell
FROM clipped
WHERE (from_ms + 899999) / 900000 < to_ms / 900000
