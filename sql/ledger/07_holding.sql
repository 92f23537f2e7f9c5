-- What scheduler runs hold at every instant: named devices, and GPUs on a node or cluster that nobody named.
-- A device is named by a record, by a claim of its node, or by an index; a name counts while the device is known.
-- 1. Of a device's names for a run the best evidence at the instant counts. Several claims of one run on one device add up
--    (containers of a pod); anything else that is named twice counts once.
-- 2. Indices name devices, in order, as far as better names leave something of what the run was granted on that node.
-- 3. What was granted on a node without a name (counts, and GPUs with an index) less what is named there stays counted; what
--    names exceed it by comes off what was granted without a node. Nothing is left where as many devices, instances or
--    parts are named as were granted, whatever they add up to (an untyped GRES counts a MIG instance as one GPU).
-- grain: run x device (or node) x maximal interval. units: share units, epoch ms
-- inputs: dated, claim, device_index, device_span, scheduler_run
-- parameters: none
-- output: holding
WITH given AS (
    -- gres_index: -1 for what is named as such; claims: how many claims a row is
    SELECT holder, cluster, node, device_id, coalesce(instance_id, 0) AS instance_id, model, share_units, evidence_rank,
        -1 AS gres_index, 0 AS claims, start_ms, from_ms, to_ms
    FROM dated
    WHERE device_id IS NOT NULL
    UNION ALL
    SELECT holder, cluster, node, device_id, coalesce(instance_id, 0), NULL, share_units, 1, -1, 1, start_ms, from_ms, to_ms
    FROM claim
    UNION ALL
    SELECT holder, cluster, node, device_id, 0, model, share_units, 2, gres_index, 0, start_ms, from_ms, to_ms
    FROM device_index
),
name AS (
    SELECT g.holder, g.cluster, coalesce(g.node, d.node) AS node, g.device_id, g.instance_id, g.model, g.share_units,
        g.evidence_rank, g.gres_index, g.claims, g.start_ms,
        CASE WHEN g.from_ms > d.from_ms THEN g.from_ms ELSE d.from_ms END AS from_ms,
        CASE WHEN g.to_ms < d.to_ms THEN g.to_ms ELSE d.to_ms END AS to_ms
    FROM given g
    JOIN device_span d ON d.device_id = g.device_id AND d.from_ms < g.to_ms AND d.to_ms > g.from_ms
),
named_run AS (
    SELECT DISTINCT holder FROM name
),
counted AS (
    SELECT d.*, n.holder IS NOT NULL AS of_named
    FROM dated d
    LEFT JOIN named_run n ON n.holder = d.holder
    WHERE d.device_id IS NULL
),
edge AS (
    SELECT holder, from_ms AS at_ms FROM name
    UNION SELECT holder, to_ms FROM name
    UNION SELECT holder, from_ms FROM counted WHERE of_named
    UNION SELECT holder, to_ms FROM counted WHERE of_named
),
piece AS (
    SELECT holder, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY holder ORDER BY at_ms) AS to_ms FROM edge
),
thing AS (
    SELECT p.holder, p.from_ms, p.to_ms, n.cluster, n.node, n.device_id, n.instance_id, n.evidence_rank, n.start_ms,
        max(n.model) AS model, min(n.gres_index) AS gres_index, sum(n.claims) AS claims,
        coalesce(sum(CASE WHEN n.claims > 0 THEN n.share_units END), 0) AS claimed_units,
        coalesce(max(CASE WHEN n.claims = 0 THEN n.share_units END), 0) AS told_units
    FROM piece p
    JOIN name n ON n.holder = p.holder AND n.from_ms <= p.from_ms AND n.to_ms >= p.to_ms
    GROUP BY p.holder, p.from_ms, p.to_ms, n.cluster, n.node, n.device_id, n.instance_id, n.evidence_rank, n.start_ms
),
ranked AS (
    SELECT *, CAST(CASE WHEN claimed_units > told_units THEN claimed_units ELSE told_units END AS BIGINT) AS units,
        min(evidence_rank) OVER (PARTITION BY holder, from_ms, device_id) AS best_rank
    FROM thing
),
filled AS (
    SELECT *,
        sum(CASE WHEN gres_index < 0 THEN units ELSE 0 END) OVER (PARTITION BY holder, from_ms, node) AS sure_units,
        sum(CASE WHEN gres_index < 0 THEN 0 ELSE units END) OVER (
            PARTITION BY holder, from_ms, node ORDER BY gres_index, device_id, instance_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto_units
    FROM ranked
    WHERE evidence_rank = best_rank
),
counted_at AS (
    SELECT p.holder, p.from_ms, p.to_ms, c.holding_id, c.cluster, c.node, c.model, c.start_ms, c.share_units
    FROM piece p
    JOIN counted c ON c.holder = p.holder AND c.from_ms <= p.from_ms AND c.to_ms >= p.to_ms
),
granted_on AS (
    SELECT holder, from_ms, node, CAST(sum(share_units) AS BIGINT) AS units
    FROM counted_at
    WHERE node IS NOT NULL
    GROUP BY holder, from_ms, node
),
named AS (
    SELECT f.*
    FROM filled f
    LEFT JOIN granted_on g ON g.holder = f.holder AND g.from_ms = f.from_ms AND g.node = f.node
    WHERE f.gres_index < 0 OR f.sure_units + f.upto_units <= g.units
),
named_on AS (
    SELECT holder, from_ms, node, CAST(sum(units) AS BIGINT) AS units FROM named GROUP BY holder, from_ms, node
),
beyond AS (
    -- what names exceed the grants of their nodes by
    SELECT n.holder, n.from_ms,
        CAST(sum(CASE WHEN n.units > coalesce(g.units, 0) THEN n.units - coalesce(g.units, 0) ELSE 0 END) AS BIGINT) AS units
    FROM named_on n
    LEFT JOIN granted_on g ON g.holder = n.holder AND g.from_ms = n.from_ms AND g.node = n.node
    GROUP BY n.holder, n.from_ms
),
complete AS (
    SELECT n.holder, n.from_ms
    FROM named n
    JOIN scheduler_run r ON r.holder = n.holder
    GROUP BY n.holder, n.from_ms, r.gpu_count
    HAVING sum(CASE WHEN n.claims > 1 THEN n.claims ELSE 1 END) >= r.gpu_count
),
taken AS (
    SELECT c.*, coalesce(CASE WHEN c.node IS NULL THEN b.units ELSE o.units END, 0)
        - coalesce(sum(c.share_units) OVER (
            PARTITION BY c.holder, c.from_ms, c.node ORDER BY c.model, c.holding_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS taken_units
    FROM counted_at c
    LEFT JOIN named_on o ON o.holder = c.holder AND o.from_ms = c.from_ms AND o.node = c.node
    LEFT JOIN beyond b ON b.holder = c.holder AND b.from_ms = c.from_ms
    LEFT JOIN complete f ON f.holder = c.holder AND f.from_ms = c.from_ms
    WHERE f.holder IS NULL
),
rest AS (
    SELECT holder, from_ms, to_ms, cluster, node, model, start_ms,
        CAST(sum(CASE WHEN taken_units <= 0 THEN share_units ELSE share_units - taken_units END) AS BIGINT) AS units
    FROM taken
    WHERE taken_units < share_units
    GROUP BY holder, from_ms, to_ms, cluster, node, model, start_ms
),
at AS (
    -- by_model: what is counted differs by its model, a device has its own
    SELECT holder, cluster, node, device_id, instance_id, model, '' AS by_model, units, evidence_rank, start_ms, from_ms, to_ms
    FROM named
    UNION ALL
    SELECT holder, cluster, node, NULL, NULL, model, coalesce(model, ''), units, 3, start_ms, from_ms, to_ms
    FROM rest
),
joined AS (
    -- 1 where something begins that was not there before
    SELECT *,
        CASE WHEN from_ms = lag(to_ms) OVER (
            PARTITION BY holder, cluster, node, device_id, instance_id, by_model, units, evidence_rank ORDER BY from_ms)
            THEN 0 ELSE 1 END AS begins
    FROM at
),
island AS (
    SELECT *,
        sum(begins) OVER (
            PARTITION BY holder, cluster, node, device_id, instance_id, by_model, units, evidence_rank
            ORDER BY from_ms) AS number
    FROM joined
)
SELECT holder, cluster, node, device_id, nullif(instance_id, 0) AS instance_id, max(model) AS model, units AS share_units,
    CAST(evidence_rank AS BIGINT) AS evidence_rank, min(start_ms) AS start_ms, min(from_ms) AS from_ms, max(to_ms) AS to_ms
FROM island
GROUP BY holder, cluster, node, device_id, instance_id, by_model, units, evidence_rank, number
UNION ALL
SELECT holder, cluster, node, NULL, NULL, model, share_units, 3, start_ms, from_ms, to_ms
FROM counted
WHERE NOT of_named
