-- Which waiting requests for a part of a card were blocked by share leftovers in a cell: no whole card was free, no leftover
-- of a card was as large as they ask for, and all leftovers of the cluster together were.
-- grain: request x cell. units: share units, ms
-- inputs: pending_cell, free_cell, left_cell
-- parameters: none
-- output: part_blocked
WITH free AS (
    SELECT DISTINCT cluster, cell FROM free_cell
),
leftover AS (
    SELECT cluster, cell, max(left_ms) AS most_ms, sum(left_ms) AS all_ms FROM left_cell GROUP BY cluster, cell
)
SELECT p.job_id, p.cluster, p.cell, p.tasks, p.units
FROM pending_cell p
JOIN leftover l ON l.cluster = p.cluster AND l.cell = p.cell
LEFT JOIN free f ON f.cluster = p.cluster AND f.cell = p.cell
WHERE p.is_part AND f.cell IS NULL AND l.most_ms * 72072000 < p.units * 900000 AND l.all_ms * 72072000 >= p.units * 900000
