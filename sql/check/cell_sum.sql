-- What the checks of cells look at, read once: time of each cell added up over those who hold it and over classes. known: whether
-- any of it is of capacity that is known; accounted_ms is of that alone, held_ms of all. most_ms: the most that one row of it has.
-- unsound: whether a row of it breaks L5 (`check/L5`).
-- grain: unit x cell. key: unit_id, cell. units: ms
-- inputs: usage
-- parameters: none
-- output: cell_sum
SELECT unit_id, cell, sum(CASE WHEN capacity_unknown THEN 0 ELSE 1 END) > 0 AS known,
    CAST(sum(CASE WHEN capacity_unknown THEN 0
        ELSE busy_ms + held_idle_ms + held_unmeasured_ms + unallocated_ms + unavailable_ms + unobserved_ms END) AS BIGINT) AS accounted_ms,
    CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS BIGINT) AS held_ms,
    max(busy_ms + held_idle_ms + held_unmeasured_ms + unallocated_ms + unavailable_ms + unobserved_ms) AS most_ms,
    max(CASE WHEN covered_ms <> busy_ms + held_idle_ms OR estimated_ms > held_unmeasured_ms OR busy_ms < 0 OR held_idle_ms < 0
            OR held_unmeasured_ms < 0 OR unallocated_ms < 0 OR unavailable_ms < 0 OR unobserved_ms < 0
            OR effective_ms > busy_ms + held_idle_ms + held_unmeasured_ms THEN 1 ELSE 0 END) = 1 AS unsound
FROM usage
GROUP BY unit_id, cell
