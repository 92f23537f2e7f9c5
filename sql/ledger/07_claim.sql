-- Devices that a node's own records (the kubelet, Slurm's facts on the node) say a run was given, by the newest reading of
-- each claim. A claim is of every run of its hint that it touches, or that it begins shortly before (as with ticks); in a
-- run that it was seen in, a claim that nobody saw end lasts to the run's end. One that names no run is nothing.
-- A node looks once a minute: the first claims of a run on a node, if they begin within 15 minutes of its start, reach back
-- to it. A run that is seen later than that was, until then, somewhere on the node.
-- grain: run x claim. units: share units, epoch ms
-- inputs: device_claim, whose_hint
-- parameters: none
-- output: claim
WITH newest AS (
    SELECT *, row_number() OVER (PARTITION BY claim_id ORDER BY as_of_ms DESC, to_ms, share_units DESC) AS place
    FROM device_claim
),
matched AS (
    SELECT w.holder, c.claim_id, c.cluster, c.node, c.device_id, c.instance_id, c.share_units, w.start_ms,
        CASE WHEN c.from_ms > w.start_ms THEN c.from_ms ELSE w.start_ms END AS from_ms,
        CASE WHEN c.to_ms < w.end_ms THEN c.to_ms ELSE w.end_ms END AS to_ms
    FROM newest c
    JOIN whose_hint w ON w.hint_id = c.hint_id AND w.end_ms > c.from_ms
        AND (w.start_ms < c.to_ms
            OR (c.to_ms IS NULL AND (w.start_ms <= c.as_of_ms OR w.prev_end_ms <= c.from_ms)))
    WHERE c.place = 1
),
earliest AS (
    SELECT *, min(from_ms) OVER (PARTITION BY holder, node) AS first_ms FROM matched WHERE from_ms < to_ms
)
SELECT holder, claim_id, cluster, node, device_id, instance_id, share_units, start_ms,
    CASE WHEN from_ms = first_ms AND from_ms - start_ms <= 900000 THEN start_ms ELSE from_ms END AS from_ms, to_ms
FROM earliest
