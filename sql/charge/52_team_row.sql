-- Usage rows of pools with quotas that somebody holds, a row a paying team: cut by slices and split as charges are.
-- grain: unit x holder x usage row x slice x kind of use. units: ms, epoch ms
-- inputs: lend_pool, use_kind, owned_at, usage, slice
-- parameters: from_day INT, to_day INT
-- output: team_row
WITH there AS (
    SELECT o.unit_id, o.holder, o.epoch_ms, o.use_no, o.parts, o.parts_before, k.pool, k.team
    FROM lend_pool l
    JOIN use_kind k ON k.pool = l.pool
    JOIN owned_at o ON o.use_no = k.use_no AND o.epoch_ms = l.epoch_ms
    WHERE o.holder <> 0
),
placed AS (
    SELECT t.unit_id, t.holder, t.use_no, t.parts, t.parts_before, t.pool, t.team, u.cell, u.from_ms, s.from_ms AS slice_ms, s.slot_ms,
        CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END - u.from_ms AS a,
        CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms
    FROM there t
    JOIN usage u ON u.unit_id = t.unit_id AND u.holder = t.holder
    JOIN slice s ON s.cell = u.cell AND s.epoch_ms = t.epoch_ms AND (s.whole OR (u.from_ms < s.to_ms AND u.to_ms > s.from_ms))
    WHERE u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
),
cut AS (
    SELECT unit_id, holder, use_no, parts, parts_before, pool, team, cell, from_ms, slice_ms, slot_ms,
        busy_ms * b / len - busy_ms * a / len AS busy_ms,
        held_idle_ms * b / len - held_idle_ms * a / len AS held_idle_ms,
        held_unmeasured_ms * b / len - held_unmeasured_ms * a / len AS held_unmeasured_ms
    FROM placed
)
SELECT unit_id, holder, use_no, pool, team, cell, from_ms, slice_ms, slot_ms,
    busy_ms * (parts_before + parts) / 10000 - busy_ms * parts_before / 10000 AS busy_ms,
    held_idle_ms * (parts_before + parts) / 10000 - held_idle_ms * parts_before / 10000 AS held_idle_ms,
    held_unmeasured_ms * (parts_before + parts) / 10000 - held_unmeasured_ms * parts_before / 10000 AS held_unmeasured_ms
FROM cut
