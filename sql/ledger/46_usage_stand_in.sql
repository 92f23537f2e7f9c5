-- Usage of stand-ins: their holders, and what is left of their capacity. What holders take comes off what was
-- unallocated or unobserved first, off what was unavailable last (a run on a node reported down still holds).
-- grain: place x cell x holder x interval. units: ms. invariants: L1
-- inputs: stand_in_grant, capacity, name
-- parameters: none
-- output: usage_stand_in
WITH taken AS (
    SELECT cluster, place_node, cell, CAST(sum(granted_ms) AS BIGINT) AS granted_ms
    FROM stand_in_grant
    WHERE known
    GROUP BY cluster, place_node, cell
),
rest AS (
    SELECT c.*, c.capacity_ms - coalesce(t.granted_ms, 0) AS rest_ms
    FROM capacity c
    LEFT JOIN taken t ON t.cluster = c.cluster AND t.place_node = c.place_node AND t.cell = c.cell
),
down AS (
    SELECT *, CASE WHEN unavailable_ms < rest_ms THEN unavailable_ms ELSE rest_ms END AS down_ms FROM rest
),
split AS (
    SELECT *,
        CASE WHEN unallocated_ms + unobserved_ms = 0 THEN 0
            ELSE CAST((CAST(rest_ms - down_ms AS DECIMAL(38, 0)) * unallocated_ms
                - (CAST(rest_ms - down_ms AS DECIMAL(38, 0)) * unallocated_ms) % (unallocated_ms + unobserved_ms))
                / (unallocated_ms + unobserved_ms) AS BIGINT) END AS free_ms
    FROM down
),
row_of AS (
    SELECT cluster, place_node, place_model, cell, holder, from_ms, to_ms, busy_ms,
        covered_ms - busy_ms AS held_idle_ms, granted_ms - covered_ms AS held_unmeasured_ms,
        0 AS unallocated_ms, 0 AS unavailable_ms, 0 AS unobserved_ms, covered_ms, over_share_ms, conflict_ms,
        mem_peak_bytes, NOT known AS capacity_unknown
    FROM stand_in_grant
    UNION ALL
    SELECT cluster, place_node, '', cell, 0, from_ms, to_ms, 0, 0, 0, free_ms, down_ms, rest_ms - down_ms - free_ms, 0, 0,
        0, NULL, false
    FROM split
    WHERE rest_ms > 0
)
SELECT n.id AS unit_id, r.*
FROM row_of r
JOIN name n ON n.kind = 'place' AND n.a = r.cluster AND n.b = r.place_node AND n.c = r.place_model
