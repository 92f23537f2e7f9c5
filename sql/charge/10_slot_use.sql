-- Usage of the asked window added up by slot: what the prices of a month are looked up for is then as many rows as cards and
-- holders have slots, not cells. A row that an edge (or the window's) cuts is divided first: each of its measures as
-- floor(v x (edge - from) / (to - from)), the last part takes the rest, so that parts always add up.
-- judged_ms: held time for which effective time is known; what is missing beside it is not a gap but not known.
-- grain: unit x holder x slot. key: unit_id, holder, slot_ms. units: ms, epoch ms
-- inputs: slice, usage
-- parameters: from_day INT, to_day INT
-- output: slot_use
WITH placed AS (
    SELECT u.unit_id, u.holder, s.slot_ms,
        CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END - u.from_ms AS a,
        CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms,
        u.covered_ms, u.effective_ms, u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms,
        u.mem_peak_bytes, u.energy_mj
    FROM slice s
    JOIN usage u ON u.cell = s.cell AND u.from_ms < s.to_ms AND u.to_ms > s.from_ms
    WHERE NOT s.whole AND u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
),
cut AS (
    -- nearly all rows lie in whole cells, and are not worth a division
    SELECT u.unit_id, u.holder, s.slot_ms, u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms,
        u.unobserved_ms, u.covered_ms, u.effective_ms, u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms,
        u.foreign_ms, u.mem_peak_bytes, u.energy_mj
    FROM slice s
    JOIN usage u ON u.cell = s.cell
    WHERE s.whole AND u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
    UNION ALL
    SELECT unit_id, holder, slot_ms,
        busy_ms * b / len - busy_ms * a / len AS busy_ms,
        held_idle_ms * b / len - held_idle_ms * a / len AS held_idle_ms,
        held_unmeasured_ms * b / len - held_unmeasured_ms * a / len AS held_unmeasured_ms,
        unallocated_ms * b / len - unallocated_ms * a / len AS unallocated_ms,
        unavailable_ms * b / len - unavailable_ms * a / len AS unavailable_ms,
        unobserved_ms * b / len - unobserved_ms * a / len AS unobserved_ms,
        covered_ms * b / len - covered_ms * a / len AS covered_ms,
        effective_ms * b / len - effective_ms * a / len AS effective_ms,
        held_zero_ms * b / len - held_zero_ms * a / len AS held_zero_ms,
        over_share_ms * b / len - over_share_ms * a / len AS over_share_ms,
        conflict_ms * b / len - conflict_ms * a / len AS conflict_ms,
        estimated_ms * b / len - estimated_ms * a / len AS estimated_ms,
        foreign_ms * b / len - foreign_ms * a / len AS foreign_ms,
        mem_peak_bytes,
        energy_mj * b / len - energy_mj * a / len AS energy_mj
    FROM placed
)
SELECT unit_id, holder, slot_ms,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms, CAST(sum(unallocated_ms) AS BIGINT) AS unallocated_ms,
    CAST(sum(unavailable_ms) AS BIGINT) AS unavailable_ms, CAST(sum(unobserved_ms) AS BIGINT) AS unobserved_ms,
    CAST(sum(covered_ms) AS BIGINT) AS covered_ms, CAST(sum(effective_ms) AS BIGINT) AS effective_ms,
    CAST(sum(CASE WHEN effective_ms IS NOT NULL THEN busy_ms + held_idle_ms + held_unmeasured_ms ELSE 0 END) AS BIGINT)
        AS judged_ms,
    CAST(sum(held_zero_ms) AS BIGINT) AS held_zero_ms, CAST(sum(over_share_ms) AS BIGINT) AS over_share_ms,
    CAST(sum(conflict_ms) AS BIGINT) AS conflict_ms, CAST(sum(estimated_ms) AS BIGINT) AS estimated_ms,
    CAST(sum(foreign_ms) AS BIGINT) AS foreign_ms, max(mem_peak_bytes) AS mem_peak_bytes,
    CAST(sum(energy_mj) AS BIGINT) AS energy_mj
FROM cut
GROUP BY unit_id, holder, slot_ms
