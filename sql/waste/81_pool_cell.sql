-- Capacity of each pool in each cell of the window: all six classes of its cards.
-- grain: pool x cell. units: ms
-- inputs: owned_at, used, use_kind
-- parameters: none
-- output: pool_cell
WITH placed AS (
    SELECT k.pool, u.cell, o.parts, o.parts_before, u.a_ms - u.from_ms AS a, u.b_ms - u.from_ms AS b,
        u.to_ms - u.from_ms AS len, u.busy_ms + u.held_idle_ms + u.held_unmeasured_ms + u.unallocated_ms + u.unavailable_ms
            + u.unobserved_ms AS known_ms
    FROM use_kind k
    JOIN owned_at o ON o.use_no = k.use_no
    JOIN used u ON u.unit_id = o.unit_id AND u.holder = o.holder AND u.epoch_ms = o.epoch_ms
),
cut AS (
    SELECT pool, cell, parts, parts_before, known_ms * b / len - known_ms * a / len AS known_ms FROM placed
)
SELECT pool, cell,
    CAST(sum(known_ms * (parts_before + parts) / 10000 - known_ms * parts_before / 10000) AS BIGINT) AS capacity_ms
FROM cut
GROUP BY pool, cell
