-- L5: every held millisecond is measured (a tick) or listed as unmeasured, and what is estimated lies among the latter:
-- no time is silently bridged. Which rows break it is said once, for whole cells, in `cell_sum`; here they are shown.
-- grain: row of an unsound cell. units: ms
-- inputs: cell_sum, usage
-- parameters: none
-- output: violation
SELECT u.unit_id, u.cell, u.holder, u.from_ms, u.covered_ms, u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.estimated_ms
FROM cell_sum c
JOIN usage u ON u.unit_id = c.unit_id AND u.cell = c.cell
WHERE c.unsound
ORDER BY unit_id, cell, holder, from_ms
