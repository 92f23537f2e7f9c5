-- Holdings of the window, with devices of GPUs that no record names found by the processes that ran on them.
-- What a run holds by count on a node is looked at per UTC day (or the part of it in which it holds that much): the devices
-- of the node on which ticks that begin in that time saw processes of the run are its own, if
-- - they are no more than what was granted: a process that touches other cards tells nothing;
-- - each was known all that time, and the run does not hold it by name already;
-- - nobody loses by it: with all others that hold it by name, or that would, at any time in between, they are at most a card.
-- What is not found stays counted, so that a run holds exactly what it was granted whether it is found or not.
-- evidence_rank: 1 by a cgroup or a record of the node, 3 by the environment or a session.
-- grain: run x device (or node) x interval. units: share units, epoch ms. invariants: L4
-- inputs: holding, process, device_span, device
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: held
WITH inside AS (
    SELECT *,
        CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS in_from_ms,
        CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS in_to_ms
    FROM holding
    WHERE from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
),
by_day AS (
    SELECT *, unnest(range(in_from_ms / 86400000, (in_to_ms - 1) / 86400000 + 1)) AS day
    FROM inside
    WHERE device_id IS NULL AND node IS NOT NULL
),
counted AS (
    SELECT holder, cluster, node, model, share_units, start_ms,
        row_number() OVER (ORDER BY holder, cluster, node, day, in_from_ms, in_to_ms, share_units, model) AS row_id,
        CASE WHEN in_from_ms > day * 86400000 THEN in_from_ms ELSE day * 86400000 END AS from_ms,
        CASE WHEN in_to_ms < (day + 1) * 86400000 THEN in_to_ms ELSE (day + 1) * 86400000 END AS to_ms
    FROM by_day
),
counted_run AS (
    SELECT DISTINCT holder FROM counted
),
ran AS (
    SELECT p.holder, p.device_id, p.instance_id, p.from_ms, min(p.evidence_rank) AS evidence_rank
    FROM process p
    JOIN counted_run c ON c.holder = p.holder
    GROUP BY p.holder, p.device_id, p.instance_id, p.from_ms
),
found AS (
    SELECT c.row_id, c.holder, c.from_ms, c.to_ms, c.start_ms, c.share_units AS granted_units, r.device_id, r.instance_id,
        min(CASE WHEN r.evidence_rank < 3 THEN 1 ELSE 3 END) AS evidence_rank
    FROM counted c
    JOIN ran r ON r.holder = c.holder AND r.from_ms >= c.from_ms AND r.from_ms < c.to_ms
    JOIN device_span d ON d.device_id = r.device_id AND d.cluster = c.cluster AND d.node = c.node
        AND d.from_ms <= r.from_ms AND d.to_ms > r.from_ms
    GROUP BY c.row_id, c.holder, c.from_ms, c.to_ms, c.start_ms, c.share_units, r.device_id, r.instance_id
),
slices AS (
    SELECT device_id, min(compute_slices * 72072000 / card_slices) AS units
    FROM device
    WHERE parent_id IS NOT NULL AND compute_slices > 0 AND card_slices > 0
    GROUP BY device_id
),
sized AS (
    SELECT f.*,
        CASE WHEN f.instance_id <> 0 THEN s.units
            WHEN f.granted_units < 72072000 THEN f.granted_units ELSE 72072000 END AS units
    FROM found f
    LEFT JOIN slices s ON s.device_id = f.instance_id
),
fitting AS (
    -- rows all of whose devices are known in size and together no more than granted
    SELECT row_id FROM sized GROUP BY row_id, granted_units
    HAVING count(*) = count(units) AND sum(units) <= granted_units
),
candidate AS (
    SELECT s.row_id, s.holder, s.device_id, s.instance_id, s.units, s.evidence_rank, s.start_ms, s.from_ms, s.to_ms
    FROM sized s
    JOIN fitting f ON f.row_id = s.row_id
    JOIN device_span d ON d.device_id = s.device_id AND d.from_ms <= s.from_ms AND d.to_ms >= s.to_ms
),
other AS (
    SELECT row_id, holder, device_id, units, from_ms, to_ms FROM candidate
    UNION ALL
    SELECT 0, holder, device_id, share_units, from_ms, to_ms FROM inside WHERE device_id IS NOT NULL
),
crowd AS (
    SELECT c.row_id, c.device_id,
        CAST(sum(CASE WHEN o.row_id = 0 AND o.holder = c.holder THEN 72072001 ELSE o.units END) AS BIGINT) AS units
    FROM (SELECT DISTINCT row_id, holder, device_id, from_ms, to_ms FROM candidate) c
    JOIN other o ON o.device_id = c.device_id AND o.from_ms < c.to_ms AND o.to_ms > c.from_ms
    GROUP BY c.row_id, c.device_id
    HAVING sum(CASE WHEN o.row_id = 0 AND o.holder = c.holder THEN 72072001 ELSE o.units END) <= 72072000
),
named AS (
    SELECT c.* FROM candidate c JOIN crowd w ON w.row_id = c.row_id AND w.device_id = c.device_id
),
taken AS (
    SELECT row_id, CAST(sum(units) AS BIGINT) AS units FROM named GROUP BY row_id
)
SELECT holder, cluster, node, device_id, instance_id, model, share_units, evidence_rank, start_ms, from_ms, to_ms
FROM inside
WHERE device_id IS NOT NULL OR node IS NULL
UNION ALL
SELECT n.holder, c.cluster, c.node, n.device_id, nullif(n.instance_id, 0), c.model, n.units, n.evidence_rank, n.start_ms,
    n.from_ms, n.to_ms
FROM named n
JOIN counted c ON c.row_id = n.row_id
UNION ALL
SELECT c.holder, c.cluster, c.node, NULL, NULL, c.model, c.share_units - coalesce(t.units, 0), 3, c.start_ms, c.from_ms, c.to_ms
FROM counted c
LEFT JOIN taken t ON t.row_id = c.row_id
WHERE c.share_units > coalesce(t.units, 0)
