-- Usage inside the asked window, with its local day. A row that the window's edge cuts is divided by telescoping floor.
-- grain: unit x cell x holder x interval. units: ms, epoch ms
-- inputs: usage, calendar
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: used
WITH clipped AS (
    SELECT u.*, c.day AS local_day, c.month AS local_month,
        CASE WHEN u.from_ms > CAST($from_ms AS BIGINT) THEN u.from_ms ELSE CAST($from_ms AS BIGINT) END AS a_ms,
        CASE WHEN u.to_ms < CAST($to_ms AS BIGINT) THEN u.to_ms ELSE CAST($to_ms AS BIGINT) END AS b_ms
    FROM usage u
    JOIN calendar c ON c.cell = u.cell
    WHERE u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
)
SELECT unit_id, cell, holder, local_day, local_month, from_ms, to_ms, a_ms, b_ms,
    busy_ms, held_idle_ms, held_unmeasured_ms, unallocated_ms, unavailable_ms, unobserved_ms, covered_ms, effective_ms,
    held_zero_ms, over_share_ms, conflict_ms, estimated_ms, foreign_ms, mem_peak_bytes, energy_mj
FROM clipped
WHERE a_ms < b_ms
