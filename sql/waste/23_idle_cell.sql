-- Idle time by cell with who pays for it at which price: held_idle divided over pieces and owners exactly as charges divide it,
-- and of it what was borrowed at its own price, so that both add up to the same.
-- grain: unit x cell x holder x kind of use x price. units: ms
-- inputs: owned_at, used, price, borrowed_row, slice
-- parameters: none
-- output: idle_cell
WITH cut AS (
    SELECT u.unit_id, u.cell, u.holder, o.use_no, u.phase_ms, o.parts, o.parts_before,
        u.held_idle_ms * (u.b_ms - u.from_ms) / (u.to_ms - u.from_ms)
            - u.held_idle_ms * (u.a_ms - u.from_ms) / (u.to_ms - u.from_ms) AS piece_ms
    FROM owned_at o
    JOIN used u ON u.unit_id = o.unit_id AND u.holder = o.holder AND u.epoch_ms = o.epoch_ms
    WHERE u.held_idle_ms > 0
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
SELECT p.unit_id, p.cell, p.holder, p.use_no, c.price_micros, c.currency, CAST(sum(p.held_idle_ms) AS BIGINT) AS held_idle_ms
FROM price c
JOIN piece p ON p.use_no = c.use_no AND p.phase_ms = c.phase_ms AND p.borrowed = c.borrowed
GROUP BY p.unit_id, p.cell, p.holder, p.use_no, c.price_micros, c.currency
