-- What the checks of cells look at, read once: time of each cell added up over those who hold it and over classes. known: whether
-- any of it is of capacity that is known; accounted_ms is of that alone, held_ms of all.
-- grain: unit x cell. key: unit_id, cell. units: ms
-- inputs: usage
-- parameters: none
-- output: cell_sum
SELECT unit_id, cell, sum(CASE WHEN capacity_unknown THEN 0 ELSE 1 END) > 0 AS known,
    CAST(sum(CASE WHEN capacity_unknown THEN 0
        ELSE busy_ms + held_idle_ms + held_unmeasured_ms + unallocated_ms + unavailable_ms + unobserved_ms END) AS BIGINT) AS accounted_ms,
    CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS BIGINT) AS held_ms
FROM usage
GROUP BY unit_id, cell
