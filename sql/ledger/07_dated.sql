-- What records of a scheduler say that runs hold, by the newest reading of each holding, clipped to the run and to the
-- as-of. What is empty names nothing.
-- evidence_rank: 1 kubelet or cgroup, 2 gres, 3 process; holders of a card are served in that order.
-- grain: holding. key: holding_id. units: share units, epoch ms
-- inputs: allocation_device, scheduler_run, as_of
-- parameters: none
-- output: dated
WITH newest AS (
    SELECT *,
        row_number() OVER (PARTITION BY holding_id ORDER BY as_of_ms DESC, share_units DESC, to_ms DESC) AS place
    FROM allocation_device
),
of_run AS (
    SELECT h.holding_id, h.allocation_id AS holder, h.cluster, h.node, h.device_id, h.instance_id,
        coalesce(h.model, r.model) AS model, h.share_units,
        CASE h.evidence WHEN 'kubelet' THEN 1 WHEN 'cgroup' THEN 1 WHEN 'gres' THEN 2 ELSE 3 END AS evidence_rank,
        h.gres_index, h.index_rule, r.start_ms, r.gpu_count,
        CASE WHEN h.from_ms > r.start_ms THEN h.from_ms ELSE r.start_ms END AS from_ms,
        CASE WHEN h.to_ms < r.end_ms THEN h.to_ms ELSE r.end_ms END AS end_ms,
        a.as_of_ms
    FROM newest h
    JOIN scheduler_run r ON r.holder = h.allocation_id
    JOIN as_of a ON a.cluster = h.cluster
    WHERE h.place = 1
),
clipped AS (
    SELECT *, CASE WHEN end_ms < as_of_ms THEN end_ms ELSE as_of_ms END AS to_ms FROM of_run
)
SELECT holding_id, holder, cluster, node, device_id, instance_id, model, share_units, evidence_rank, gres_index, index_rule,
    start_ms, gpu_count, from_ms, to_ms
FROM clipped
WHERE from_ms < to_ms
