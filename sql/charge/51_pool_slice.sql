-- What a pool with quotas has in each slice: all six classes of its cards, and nobody's three. Rows that an edge cuts are divided
-- by telescoping floor, class by class as charges are.
-- grain: pool x slice. key: pool, slice_ms. units: ms, epoch ms
-- inputs: lend_pool, use_kind, owned_at, usage, slice
-- parameters: from_day INT, to_day INT
-- output: pool_slice
WITH there AS (
    SELECT o.unit_id, o.holder, o.epoch_ms, l.pool, l.reserved
    FROM lend_pool l
    JOIN use_kind k ON k.pool = l.pool
    JOIN owned_at o ON o.use_no = k.use_no AND o.epoch_ms = l.epoch_ms
    WHERE o.parts_before = 0
),
placed AS (
    SELECT t.pool, t.reserved, t.holder, s.from_ms AS slice_ms, s.to_ms AS slice_to_ms, s.slot_ms, s.epoch_ms,
        CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END - u.from_ms AS a,
        CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms
    FROM there t
    JOIN usage u ON u.unit_id = t.unit_id AND u.holder = t.holder
    JOIN slice s ON s.cell = u.cell AND s.epoch_ms = t.epoch_ms AND (s.whole OR (u.from_ms < s.to_ms AND u.to_ms > s.from_ms))
    WHERE u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
),
cut AS (
    SELECT pool, reserved, holder, slice_ms, slice_to_ms, slot_ms, epoch_ms,
        busy_ms * b / len - busy_ms * a / len + held_idle_ms * b / len - held_idle_ms * a / len
            + held_unmeasured_ms * b / len - held_unmeasured_ms * a / len AS held_ms,
        unallocated_ms * b / len - unallocated_ms * a / len AS unallocated_ms,
        unavailable_ms * b / len - unavailable_ms * a / len AS unavailable_ms,
        unobserved_ms * b / len - unobserved_ms * a / len AS unobserved_ms
    FROM placed
)
SELECT pool, slice_ms, slice_to_ms, slot_ms, epoch_ms, reserved,
    CAST(sum(held_ms + unallocated_ms + unavailable_ms + unobserved_ms) AS BIGINT) AS capacity_ms,
    CAST(sum(CASE WHEN holder = 0 THEN unallocated_ms ELSE 0 END) AS BIGINT) AS unallocated_ms,
    CAST(sum(CASE WHEN holder = 0 THEN unavailable_ms ELSE 0 END) AS BIGINT) AS unavailable_ms,
    CAST(sum(CASE WHEN holder = 0 THEN unobserved_ms ELSE 0 END) AS BIGINT) AS unobserved_ms
FROM cut
GROUP BY pool, slice_ms, slice_to_ms, slot_ms, epoch_ms, reserved
