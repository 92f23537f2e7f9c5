-- Which stand-in takes the unnamed holders of a cell. A holder whose node has capacity in the cell stands in for that
-- node. If any holder of the cluster names no such node while the cluster has capacity, the whole cluster is one stand-in
-- in that cell. Where nothing is known of a cluster in a cell, capacity is what was held (by model); so it is, on the node, in
-- the part of a cell in which nothing of its node was known yet, or any more.
-- grain: holder x cell x interval. units: share units
-- inputs: count_cell, usage_device, device_span, spare_cell, node_part
-- parameters: none
-- output: stand_in
WITH where_device AS (
    SELECT DISTINCT u.cell, d.cluster, d.node
    FROM (SELECT DISTINCT device_id, cell FROM usage_device) u
    JOIN device_span d ON d.device_id = u.device_id
        AND d.from_ms < (u.cell + 1) * 900000 AND d.to_ms > u.cell * 900000
),
capacity AS (
    SELECT cell, cluster, node FROM where_device
    UNION SELECT cell, cluster, node FROM spare_cell
),
cluster_capacity AS (
    SELECT DISTINCT cell, cluster FROM capacity
),
found AS (
    SELECT c.*, n.cell IS NOT NULL AND c.node <> '' AS on_node, k.cell IS NOT NULL AS known
    FROM count_cell c
    LEFT JOIN capacity n ON n.cell = c.cell AND n.cluster = c.cluster AND n.node = c.node
    LEFT JOIN cluster_capacity k ON k.cell = c.cell AND k.cluster = c.cluster
),
judged AS (
    SELECT *, bool_or(known AND NOT on_node) OVER (PARTITION BY cluster, cell) AS wide FROM found
),
cut AS (
    SELECT j.*, p.seen, p.from_ms AS part_from_ms, p.to_ms AS part_to_ms
    FROM judged j
    LEFT JOIN node_part p ON j.on_node AND p.cluster = j.cluster AND p.node = j.node AND p.cell = j.cell
        AND p.from_ms < j.to_ms AND p.to_ms > j.from_ms
),
placed AS (
    SELECT holder, cluster, cell, start_ms, node, model, share_units, wide,
        CASE WHEN part_from_ms > from_ms THEN part_from_ms ELSE from_ms END AS from_ms,
        CASE WHEN part_to_ms < to_ms THEN part_to_ms ELSE to_ms END AS to_ms,
        known AND coalesce(seen, true) AS known,
        CASE WHEN NOT coalesce(seen, true) THEN node WHEN wide OR NOT known THEN '' ELSE node END AS place_node,
        CASE WHEN known THEN '' ELSE model END AS place_model
    FROM cut
)
SELECT holder, cluster, cell, start_ms, from_ms, to_ms, known, wide, place_node, place_model, node, model,
    CAST(sum(share_units) AS BIGINT) AS share_units
FROM placed
GROUP BY holder, cluster, cell, start_ms, from_ms, to_ms, known, wide, place_node, place_model, node, model
