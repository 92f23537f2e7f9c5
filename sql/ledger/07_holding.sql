-- What scheduler runs hold, by the newest reading of each holding, clipped to the run and to the as-of: a named device
-- (the best evidence for it only), or GPUs on a node or cluster that nobody named. Of the latter, what is named is taken
-- off.
-- evidence_rank: 1 kubelet or cgroup, 2 gres, 3 process; holders of a card are served in that order.
-- grain: run x device (or node) x interval
-- inputs: allocation_device, scheduler_run, as_of
-- parameters: none
-- output: holding
WITH newest AS (
    SELECT *,
        row_number() OVER (PARTITION BY holding_id ORDER BY as_of_ms DESC, share_units DESC, to_ms DESC) AS place
    FROM allocation_device
),
dated AS (
    SELECT h.allocation_id AS holder, h.cluster, h.node, h.device_id, h.instance_id, coalesce(h.model, r.model) AS model,
        h.share_units,
        CASE h.evidence WHEN 'kubelet' THEN 1 WHEN 'cgroup' THEN 1 WHEN 'gres' THEN 2 ELSE 3 END AS evidence_rank,
        r.start_ms,
        CASE WHEN h.from_ms > r.start_ms THEN h.from_ms ELSE r.start_ms END AS from_ms,
        CASE WHEN h.to_ms < r.end_ms THEN h.to_ms ELSE r.end_ms END AS end_ms,
        a.as_of_ms
    FROM newest h
    JOIN scheduler_run r ON r.holder = h.allocation_id
    JOIN as_of a ON a.cluster = h.cluster
    WHERE h.place = 1
),
clipped AS (
    -- what is empty names nothing
    SELECT d.*, CASE WHEN end_ms < as_of_ms THEN end_ms ELSE as_of_ms END AS to_ms
    FROM dated d
    WHERE from_ms < CASE WHEN end_ms < as_of_ms THEN end_ms ELSE as_of_ms END
),
best AS (
    SELECT holder, device_id, min(evidence_rank) AS evidence_rank
    FROM clipped
    WHERE device_id IS NOT NULL
    GROUP BY holder, device_id
),
named AS (
    SELECT c.*
    FROM clipped c
    JOIN best b ON b.holder = c.holder AND b.device_id = c.device_id AND b.evidence_rank = c.evidence_rank
),
named_device AS (
    -- a device held in several intervals is still one device
    SELECT holder, coalesce(node, '') AS node, device_id, coalesce(instance_id, 0) AS instance_id,
        max(share_units) AS units
    FROM named
    GROUP BY holder, coalesce(node, ''), device_id, coalesce(instance_id, 0)
),
named_on AS (
    SELECT holder, node, CAST(sum(units) AS BIGINT) AS units FROM named_device GROUP BY holder, node
),
named_all AS (
    SELECT holder, CAST(sum(units) AS BIGINT) AS units FROM named_on GROUP BY holder
),
complete AS (
    -- as many devices or instances named as were granted: nothing is left unnamed, whatever the parts add up to
    -- (an untyped GRES counts a MIG instance as one GPU)
    SELECT n.holder
    FROM named_device n
    JOIN scheduler_run r ON r.holder = n.holder
    GROUP BY n.holder, r.gpu_count
    HAVING count(*) >= r.gpu_count
)
SELECT holder, cluster, node, device_id, instance_id, model, share_units, evidence_rank, start_ms, from_ms, to_ms
FROM named
UNION ALL
SELECT c.holder, c.cluster, c.node, c.device_id, c.instance_id, c.model,
    c.share_units - CASE WHEN c.node IS NULL THEN coalesce(a.units, 0) ELSE coalesce(o.units, 0) END,
    c.evidence_rank, c.start_ms, c.from_ms, c.to_ms
FROM clipped c
LEFT JOIN named_on o ON o.holder = c.holder AND o.node = c.node
LEFT JOIN named_all a ON a.holder = c.holder
LEFT JOIN complete f ON f.holder = c.holder
WHERE c.device_id IS NULL AND f.holder IS NULL
    AND c.share_units > CASE WHEN c.node IS NULL THEN coalesce(a.units, 0) ELSE coalesce(o.units, 0) END
