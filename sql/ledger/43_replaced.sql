-- Nobody's rows of devices that a stand-in replaces, with the place that takes them.
-- grain: device x cell. key: device_id, cell. units: ms
-- inputs: stand_in, usage_device, device_span
-- parameters: none
-- output: replaced
WITH place AS (
    SELECT DISTINCT cluster, cell, place_node FROM stand_in WHERE known
),
nobody AS (
    SELECT device_id, cell, min(from_ms) AS from_ms, max(to_ms) AS to_ms,
        CAST(sum(unallocated_ms) AS BIGINT) AS unallocated_ms,
        CAST(sum(unavailable_ms) AS BIGINT) AS unavailable_ms,
        CAST(sum(unobserved_ms) AS BIGINT) AS unobserved_ms
    FROM usage_device
    WHERE holder = 0
    GROUP BY device_id, cell
)
SELECT p.cluster, p.place_node, n.device_id, n.cell, n.from_ms, n.to_ms, min(d.model) AS model,
    n.unallocated_ms, n.unavailable_ms, n.unobserved_ms
FROM nobody n
JOIN device_span d ON d.device_id = n.device_id AND d.from_ms < (n.cell + 1) * 900000 AND d.to_ms > n.cell * 900000
JOIN place p ON p.cluster = d.cluster AND p.cell = n.cell AND (p.place_node = '' OR p.place_node = d.node)
GROUP BY p.cluster, p.place_node, n.device_id, n.cell, n.from_ms, n.to_ms,
    n.unallocated_ms, n.unavailable_ms, n.unobserved_ms
