-- L5: every held millisecond is measured (a tick) or listed as unmeasured, and what is estimated lies among the latter:
-- no time is silently bridged. Only cells that have such a row are looked into (`unsound` of `cell_sum`).
-- grain: violation. units: ms
-- inputs: cell_sum, usage
-- parameters: none
-- output: violation
SELECT u.unit_id, u.cell, u.holder, u.from_ms, u.covered_ms, u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.estimated_ms
FROM cell_sum c
JOIN usage u ON u.unit_id = c.unit_id AND u.cell = c.cell
WHERE c.unsound AND (u.covered_ms <> u.busy_ms + u.held_idle_ms OR u.estimated_ms > u.held_unmeasured_ms OR u.busy_ms < 0
    OR u.held_idle_ms < 0 OR u.held_unmeasured_ms < 0 OR u.unallocated_ms < 0 OR u.unavailable_ms < 0 OR u.unobserved_ms < 0
    OR u.effective_ms > u.busy_ms + u.held_idle_ms + u.held_unmeasured_ms)
ORDER BY unit_id, cell, holder, from_ms
