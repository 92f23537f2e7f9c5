-- Charges by the line that they go to: its quantity in ms, and beside it what was held, busy, idle and unmeasured. Those memos stand
-- once, with the team that held (foreign use that nobody owns: with the platform), so that all lines add up to what was held.
-- What was held within a quota goes to the line of the reserved capacity of its day with quantity 0, of several to the first.
-- grain: line x unit x holder x local day (more than one row where tariffs share a line). units: ms, mJ
-- inputs: charge, tariff, line_of, line_id, beside
-- parameters: none
-- output: item
WITH numbered AS (
    SELECT o.tariff_no, o.beside_no, o.kind, o.mode, i.line_id
    FROM line_of o
    JOIN line_id i ON i.line_key = o.line_key
),
within AS (
    SELECT pool, team, local_day, min(beside_no) AS beside_no FROM beside WHERE kind = 'reserved' GROUP BY pool, team, local_day
),
team_line AS (
    SELECT n.line_id, c.unit_id, c.holder, c.local_day, CASE WHEN n.mode = 'busy' THEN c.busy_ms ELSE c.held_ms END AS quantity_ms,
        c.held_ms, c.busy_ms, c.held_idle_ms, c.held_unmeasured_ms, c.covered_ms, c.effective_ms, c.energy_mj
    FROM numbered n
    JOIN charge c ON c.tariff_no = n.tariff_no
    WHERE n.kind IN ('use', 'overage') AND c.holder <> 0 AND c.held_ms <> 0
    UNION ALL
    SELECT l.line_id, c.unit_id, c.holder, c.local_day, 0, c.held_ms, c.busy_ms, c.held_idle_ms, c.held_unmeasured_ms, c.covered_ms,
        c.effective_ms, c.energy_mj
    FROM tariff t
    JOIN charge c ON c.tariff_no = t.tariff_no
    JOIN within w ON w.pool = t.pool AND w.team = t.team AND w.local_day = c.local_day
    JOIN numbered l ON l.beside_no = w.beside_no
    WHERE t.mode = 'quota' AND t.payer AND NOT t.borrowed AND c.held_ms <> 0
),
platform_line AS (
    SELECT n.line_id, c.unit_id, c.holder, c.local_day,
        CASE WHEN n.kind = 'to_settle' THEN c.held_unmeasured_ms WHEN n.mode = 'busy' AND t.payer THEN c.held_idle_ms ELSE c.held_ms END
            AS quantity_ms,
        CASE WHEN t.payer THEN 0 ELSE c.held_ms END AS held_ms, CASE WHEN t.payer THEN 0 ELSE c.busy_ms END AS busy_ms,
        CASE WHEN t.payer THEN 0 ELSE c.held_idle_ms END AS held_idle_ms,
        CASE WHEN t.payer THEN 0 ELSE c.held_unmeasured_ms END AS held_unmeasured_ms,
        CASE WHEN t.payer THEN 0 ELSE c.covered_ms END AS covered_ms, CASE WHEN NOT t.payer THEN c.effective_ms END AS effective_ms,
        CASE WHEN NOT t.payer THEN c.energy_mj END AS energy_mj
    FROM numbered n
    JOIN tariff t ON t.tariff_no = n.tariff_no
    JOIN charge c ON c.tariff_no = n.tariff_no
    WHERE n.kind IN ('unbilled_held', 'to_settle') AND c.holder <> 0 AND c.held_ms <> 0
),
idle_line AS (
    SELECT n.line_id, c.unit_id, c.holder, c.local_day,
        CASE n.kind WHEN 'unallocated' THEN c.unallocated_ms WHEN 'unavailable' THEN c.unavailable_ms ELSE c.unobserved_ms END
            AS quantity_ms,
        CASE WHEN c.holder = 0 AND n.kind = CASE WHEN c.unallocated_ms <> 0 THEN 'unallocated' WHEN c.unavailable_ms <> 0
            THEN 'unavailable' ELSE 'unobserved' END THEN c.energy_mj END AS energy_mj
    FROM numbered n
    JOIN charge c ON c.tariff_no = n.tariff_no
    WHERE n.kind IN ('unallocated', 'unavailable', 'unobserved')
)
SELECT line_id, unit_id, holder, local_day, quantity_ms, held_ms, busy_ms, held_idle_ms, held_unmeasured_ms, covered_ms, effective_ms,
    energy_mj
FROM team_line
UNION ALL
SELECT * FROM platform_line WHERE quantity_ms <> 0 OR held_ms <> 0
UNION ALL
SELECT line_id, unit_id, holder, local_day, quantity_ms, 0, 0, 0, 0, 0, NULL, energy_mj FROM idle_line WHERE quantity_ms <> 0
UNION ALL
SELECT i.line_id, 0, 0, b.local_day, b.quantity_ms, 0, 0, 0, 0, 0, NULL, NULL
FROM beside b
JOIN numbered i ON i.beside_no = b.beside_no
