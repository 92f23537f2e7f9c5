-- Which stand-in takes the unnamed holders of a cell. A holder whose node has capacity in the cell stands in for that
-- node. If any holder of the cluster names no such node while the cluster has capacity, the whole cluster is one stand-in
-- in that cell. Where nothing is known of a cluster in a cell, capacity is what was held (by model).
-- grain: holder x cell x interval. units: share units
-- inputs: count_cell, usage_device, device_span, spare_cell
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
)
SELECT holder, cluster, cell, start_ms, from_ms, to_ms, known, wide,
    CASE WHEN wide OR NOT known THEN '' ELSE node END AS place_node,
    CASE WHEN known THEN '' ELSE model END AS place_model,
    node, model,
    CAST(sum(share_units) AS BIGINT) AS share_units
FROM judged
GROUP BY holder, cluster, cell, start_ms, from_ms, to_ms, known, wide, node, model
