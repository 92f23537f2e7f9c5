-- What a holder borrowed in a slice, divided over its rows (in order of unit, from, kind of use) and their classes (busy, idle,
-- unmeasured) by telescoping floor of what they held, so that it adds up to what was borrowed. What goes with it (covered,
-- effective, energy, memos) is each row's in proportion, rounded down; the rest stays with what was not borrowed.
-- grain: unit x holder x usage row x slice x kind of use. units: ms, mJ
-- inputs: borrowed_slice, team_row, owned_at, usage, slice
-- parameters: from_day INT, to_day INT
-- output: borrowed_row
WITH running AS (
    SELECT t.*, b.held_ms AS all_ms, CAST(b.borrowed_ms AS DECIMAL(38, 0)) AS borrowed_ms,
        CAST(t.busy_ms + t.held_idle_ms + t.held_unmeasured_ms AS DECIMAL(38, 0)) AS held_ms,
        CAST(sum(t.busy_ms + t.held_idle_ms + t.held_unmeasured_ms) OVER (
            PARTITION BY t.pool, t.team, t.slice_ms, t.holder ORDER BY t.unit_id, t.from_ms, t.use_no
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS DECIMAL(38, 0)) AS upto_ms
    FROM borrowed_slice b
    JOIN team_row t ON t.pool = b.pool AND t.team = b.team AND t.slice_ms = b.slice_ms AND t.holder = b.holder
),
divided AS (
    SELECT unit_id, holder, use_no, cell, from_ms, slice_ms, slot_ms, busy_ms, held_idle_ms,
        CAST(held_ms AS BIGINT) AS held_ms,
        CAST((borrowed_ms * upto_ms - borrowed_ms * upto_ms % all_ms) / all_ms
            - (borrowed_ms * (upto_ms - held_ms) - borrowed_ms * (upto_ms - held_ms) % all_ms) / all_ms AS BIGINT) AS taken_ms
    FROM running
),
classes AS (
    SELECT unit_id, holder, use_no, cell, from_ms, slice_ms, slot_ms, held_ms, taken_ms,
        busy_ms * taken_ms / held_ms AS to_busy, (busy_ms + held_idle_ms) * taken_ms / held_ms AS to_idle
    FROM divided
    WHERE taken_ms > 0
),
beside AS (
    SELECT c.*, u.mem_peak_bytes, o.parts, o.parts_before,
        CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END - u.from_ms AS a,
        CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.covered_ms, u.effective_ms, u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms, u.energy_mj
    FROM classes c
    JOIN slice s ON s.from_ms = c.slice_ms AND s.cell = c.cell
    JOIN owned_at o ON o.unit_id = c.unit_id AND o.holder = c.holder AND o.epoch_ms = s.epoch_ms AND o.use_no = c.use_no
    JOIN usage u ON u.unit_id = c.unit_id AND u.cell = c.cell AND u.holder = c.holder AND u.from_ms = c.from_ms
    WHERE u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
),
cut AS (
    SELECT *, covered_ms * b / len - covered_ms * a / len AS covered, effective_ms * b / len - effective_ms * a / len AS effective,
        held_zero_ms * b / len - held_zero_ms * a / len AS held_zero, over_share_ms * b / len - over_share_ms * a / len AS over_share,
        conflict_ms * b / len - conflict_ms * a / len AS conflict, estimated_ms * b / len - estimated_ms * a / len AS estimated,
        foreign_ms * b / len - foreign_ms * a / len AS foreign_use, energy_mj * b / len - energy_mj * a / len AS energy,
        parts_before + parts AS parts_upto
    FROM beside
)
SELECT unit_id, holder, use_no, cell, from_ms, slice_ms, slot_ms, to_busy AS busy_ms, to_idle - to_busy AS held_idle_ms,
    taken_ms - to_idle AS held_unmeasured_ms,
    (covered * parts_upto / 10000 - covered * parts_before / 10000) * taken_ms / held_ms AS covered_ms,
    (effective * parts_upto / 10000 - effective * parts_before / 10000) * taken_ms / held_ms AS effective_ms,
    CASE WHEN effective IS NOT NULL THEN taken_ms ELSE 0 END AS judged_ms,
    (held_zero * parts_upto / 10000 - held_zero * parts_before / 10000) * taken_ms / held_ms AS held_zero_ms,
    (over_share * parts_upto / 10000 - over_share * parts_before / 10000) * taken_ms / held_ms AS over_share_ms,
    (conflict * parts_upto / 10000 - conflict * parts_before / 10000) * taken_ms / held_ms AS conflict_ms,
    (estimated * parts_upto / 10000 - estimated * parts_before / 10000) * taken_ms / held_ms AS estimated_ms,
    (foreign_use * parts_upto / 10000 - foreign_use * parts_before / 10000) * taken_ms / held_ms AS foreign_ms,
    mem_peak_bytes,
    (energy * parts_upto / 10000 - energy * parts_before / 10000) * taken_ms / held_ms AS energy_mj
FROM cut
