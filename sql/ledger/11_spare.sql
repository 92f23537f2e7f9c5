-- GPUs of the inventory that no device row stands for: they are capacity without a name. Per node (or cluster, for
-- rows without a node) and interval: inventory less devices known there, taken from its rows in order of model. A row
-- without a beginning (0) begins with what is known of its cluster.
-- grain: place x model x interval. units: GPUs, epoch ms. invariants: L1
-- inputs: inventory, device_span, as_of
-- parameters: none
-- output: spare
WITH listed AS (
    SELECT i.cluster, coalesce(i.node, '') AS node, i.model, i.gpus, i.declared_up, i.memory_bytes,
        i.queue, i.interconnect,
        CASE WHEN i.from_ms = 0 THEN coalesce(a.begin_ms, 0) ELSE i.from_ms END AS from_ms,
        CASE WHEN i.to_ms < a.as_of_ms THEN i.to_ms ELSE a.as_of_ms END AS to_ms
    FROM inventory i
    JOIN as_of a ON a.cluster = i.cluster
),
inv AS (
    SELECT * FROM listed WHERE to_ms > from_ms
),
seen AS (
    -- a device counts against its node's rows, else against the cluster's
    SELECT d.cluster, CASE WHEN n.node IS NULL THEN '' ELSE d.node END AS node, d.from_ms, d.to_ms
    FROM device_span d
    LEFT JOIN (SELECT DISTINCT cluster, node FROM inv WHERE node <> '') n ON n.cluster = d.cluster AND n.node = d.node
),
edge AS (
    SELECT cluster, node, from_ms AS at_ms FROM inv
    UNION SELECT cluster, node, to_ms FROM inv
    UNION SELECT cluster, node, from_ms FROM seen
    UNION SELECT cluster, node, to_ms FROM seen
),
piece AS (
    SELECT cluster, node, at_ms AS from_ms,
        lead(at_ms) OVER (PARTITION BY cluster, node ORDER BY at_ms) AS to_ms
    FROM edge
),
counted AS (
    SELECT p.cluster, p.node, p.from_ms, p.to_ms, count(s.cluster) AS devices
    FROM piece p
    LEFT JOIN seen s ON s.cluster = p.cluster AND s.node = p.node AND s.from_ms <= p.from_ms AND s.to_ms >= p.to_ms
    WHERE p.to_ms IS NOT NULL
    GROUP BY p.cluster, p.node, p.from_ms, p.to_ms
),
filled AS (
    SELECT c.cluster, c.node, c.from_ms, c.to_ms, i.model, i.declared_up, i.gpus, i.memory_bytes, i.queue,
        i.interconnect,
        -- devices left to take off after the rows before this one
        c.devices - coalesce(sum(i.gpus) OVER (
            PARTITION BY c.cluster, c.node, c.from_ms
            ORDER BY i.model, i.from_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS devices_left
    FROM counted c
    JOIN inv i ON i.cluster = c.cluster AND i.node = c.node AND i.from_ms <= c.from_ms AND i.to_ms >= c.to_ms
)
SELECT cluster, node, model, declared_up, memory_bytes, queue, interconnect, from_ms, to_ms,
    gpus - CASE WHEN devices_left > gpus THEN gpus WHEN devices_left > 0 THEN devices_left ELSE 0 END AS gpus
FROM filled
WHERE devices_left < gpus
