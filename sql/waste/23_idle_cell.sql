-- Idle time by cell with who pays for it at which price: held_idle divided over pieces and owners exactly as charges divide it,
-- and of it what was borrowed at its own price, so that both add up to the same.
-- grain: unit x cell x holder x team x cost centre x price. units: ms
-- inputs: owned, used, price, use_kind, borrowed_row, slice
-- parameters: none
-- output: idle_cell
WITH idle AS (
    SELECT unit_id, cell, holder, from_ms, slice_ms, to_ms - from_ms AS len, held_idle_ms FROM used WHERE held_idle_ms > 0
),
cut AS (
    SELECT o.unit_id, o.cell, o.holder, o.use_no, o.phase_ms, o.parts, o.parts_before,
        i.held_idle_ms * (o.b_ms - i.from_ms) / i.len - i.held_idle_ms * (o.a_ms - i.from_ms) / i.len AS piece_ms
    FROM idle i
    JOIN owned o ON o.unit_id = i.unit_id AND o.cell = i.cell AND o.holder = i.holder AND o.from_ms = i.from_ms
        AND o.slice_ms = i.slice_ms
),
piece AS (
    SELECT unit_id, cell, holder, use_no, phase_ms, false AS borrowed,
        piece_ms * (parts_before + parts) / 10000 - piece_ms * parts_before / 10000 AS held_idle_ms
    FROM cut
    UNION ALL
    SELECT b.unit_id, b.cell, b.holder, b.use_no, s.phase_ms, true, b.held_idle_ms
    FROM borrowed_row b
    JOIN slice s ON s.cell = b.cell AND s.from_ms = b.slice_ms
    UNION ALL
    SELECT b.unit_id, b.cell, b.holder, b.use_no, s.phase_ms, false, -b.held_idle_ms
    FROM borrowed_row b
    JOIN slice s ON s.cell = b.cell AND s.from_ms = b.slice_ms
)
SELECT p.unit_id, p.cell, p.holder, coalesce(k.team, '(platform)') AS team, coalesce(k.cost_center, '-') AS cost_center, k.pool,
    coalesce(k.tier, '-') AS tier, coalesce(k.model, '-') AS model, c.price_micros, c.currency,
    CAST(sum(p.held_idle_ms) AS BIGINT) AS held_idle_ms
FROM use_kind k
JOIN piece p ON p.use_no = k.use_no
JOIN price c ON c.use_no = p.use_no AND c.phase_ms = p.phase_ms AND c.borrowed = p.borrowed
GROUP BY p.unit_id, p.cell, p.holder, k.team, k.cost_center, k.pool, k.tier, k.model, c.price_micros, c.currency
