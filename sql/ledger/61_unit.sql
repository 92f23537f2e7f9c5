-- What the units of usage are: devices (newest facts) and places.
-- grain: unit. key: unit_id
-- inputs: device_span, name, spare
-- parameters: none
-- output: unit
WITH newest AS (
    SELECT *, row_number() OVER (PARTITION BY device_id ORDER BY from_ms DESC) AS place FROM device_span
),
of_node AS (
    SELECT cluster, node,
        CASE WHEN min(model) = max(model) THEN min(model) END AS model,
        CASE WHEN min(memory_bytes) = max(memory_bytes) THEN min(memory_bytes) END AS memory_bytes,
        max(queue) AS queue, max(interconnect) AS interconnect
    FROM (
        SELECT cluster, node, model, memory_bytes, queue, interconnect FROM newest WHERE place = 1
        UNION ALL
        SELECT cluster, node, model, memory_bytes, queue, interconnect FROM spare
    )
    GROUP BY cluster, node
)
SELECT device_id AS unit_id, 'device' AS kind, cluster, node, model, uuid, memory_bytes, queue, interconnect
FROM newest
WHERE place = 1
UNION ALL
SELECT n.id, CASE WHEN n.b <> '' THEN 'node' ELSE 'cluster' END, n.a, nullif(n.b, ''), coalesce(nullif(n.c, ''), o.model),
    NULL, o.memory_bytes, o.queue, o.interconnect
FROM name n
LEFT JOIN of_node o ON o.cluster = n.a AND o.node = n.b
WHERE n.kind = 'place'
ORDER BY unit_id
