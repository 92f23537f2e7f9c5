-- Capacity of each place and cell without a named holder: nobody's time of the devices it replaces and capacity without
-- a name, with the healthy part of the devices' time.
-- grain: place x cell. key: cluster, place_node, cell. units: ms
-- inputs: replaced, spare_cell, stand_in, measured
-- parameters: none
-- output: capacity
WITH wide AS (
    SELECT DISTINCT cluster, cell FROM stand_in WHERE known AND place_node = ''
),
healthy AS (
    SELECT device_id, cell, CAST(sum(units * ok_ms) / 72072000 AS BIGINT) AS healthy_ms
    FROM measured
    WHERE holder = 0 AND NOT failed AND NOT down
    GROUP BY device_id, cell
),
source AS (
    SELECT r.cluster, r.place_node, r.cell, r.model, r.from_ms, r.to_ms,
        r.unallocated_ms, r.unavailable_ms, r.unobserved_ms,
        -- a millisecond of a shared card that was settled on a holder is not nobody's
        coalesce(CASE WHEN h.healthy_ms > r.unallocated_ms + r.unobserved_ms THEN r.unallocated_ms + r.unobserved_ms
            ELSE h.healthy_ms END, 0) AS healthy_ms
    FROM replaced r
    LEFT JOIN healthy h ON h.device_id = r.device_id AND h.cell = r.cell
    UNION ALL
    SELECT s.cluster, CASE WHEN w.cell IS NULL THEN s.node ELSE '' END, s.cell, s.model, s.from_ms, s.to_ms,
        s.unallocated_ms, s.unavailable_ms, s.unobserved_ms, 0
    FROM spare_cell s
    LEFT JOIN wide w ON w.cluster = s.cluster AND w.cell = s.cell
)
SELECT cluster, place_node, cell, CASE WHEN min(model) = max(model) THEN min(model) END AS model,
    min(from_ms) AS from_ms, max(to_ms) AS to_ms,
    CAST(sum(unallocated_ms) AS BIGINT) AS unallocated_ms,
    CAST(sum(unavailable_ms) AS BIGINT) AS unavailable_ms,
    CAST(sum(unobserved_ms) AS BIGINT) AS unobserved_ms,
    CAST(sum(healthy_ms) AS BIGINT) AS healthy_ms,
    CAST(sum(unallocated_ms + unavailable_ms + unobserved_ms) AS BIGINT) AS capacity_ms
FROM source
GROUP BY cluster, place_node, cell
