-- What each holder held of a pool in each cell for a team, cut and split as the charge does it (telescoping floor).
-- grain: pool x team x cell x holder. units: ms, epoch ms
-- inputs: owned_at, used, use_kind, run
-- parameters: none
-- output: team_cell
WITH placed AS (
    SELECT k.pool, k.team, u.cell, u.holder, o.parts, o.parts_before, u.a_ms - u.from_ms AS a, u.b_ms - u.from_ms AS b,
        u.to_ms - u.from_ms AS len, u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms
    FROM use_kind k
    JOIN owned_at o ON o.use_no = k.use_no
    JOIN used u ON u.unit_id = o.unit_id AND u.holder = o.holder AND u.epoch_ms = o.epoch_ms
    WHERE o.holder <> 0
),
cut AS (
    SELECT pool, team, cell, holder, parts, parts_before, busy_ms * b / len - busy_ms * a / len AS busy_ms,
        held_idle_ms * b / len - held_idle_ms * a / len AS held_idle_ms,
        held_unmeasured_ms * b / len - held_unmeasured_ms * a / len AS held_unmeasured_ms
    FROM placed
),
shared AS (
    SELECT pool, team, cell, holder,
        busy_ms * (parts_before + parts) / 10000 - busy_ms * parts_before / 10000
        + held_idle_ms * (parts_before + parts) / 10000 - held_idle_ms * parts_before / 10000
        + held_unmeasured_ms * (parts_before + parts) / 10000 - held_unmeasured_ms * parts_before / 10000 AS held_ms
    FROM cut
)
SELECT s.pool, s.team, s.cell, s.holder, max(r.start_ms) AS start_ms, CAST(sum(s.held_ms) AS BIGINT) AS held_ms
FROM shared s
LEFT JOIN run r ON r.holder = s.holder
GROUP BY s.pool, s.team, s.cell, s.holder
