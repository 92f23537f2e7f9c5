-- Usage inside the asked window by cell, with its local day: what findings and fleet indicators look at, which ask in which cell
-- something was. A row that an edge (or the window's) cuts stands once for each slice, with the part a_ms to b_ms of it.
-- Who pays for it is `owned_at` by unit, holder and epoch. Of a large fleet these are more rows than memory holds: it is a view, read
-- anew by each statement, of its columns those that it asks for.
-- grain: unit x cell x holder x usage row x slice. units: ms, epoch ms
-- inputs: usage, slice
-- parameters: from_day INT, to_day INT
-- output: used
SELECT u.unit_id, u.cell, u.holder, s.day AS local_day, s.month AS local_month, s.from_ms AS slice_ms, s.epoch_ms, s.phase_ms,
    u.from_ms, u.to_ms,
    CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END AS a_ms,
    CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END AS b_ms,
    u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms, u.covered_ms, u.effective_ms,
    u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms, u.mem_peak_bytes, u.energy_mj
FROM slice s
JOIN usage u ON u.cell = s.cell AND (s.whole OR (u.from_ms < s.to_ms AND u.to_ms > s.from_ms))
WHERE u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
