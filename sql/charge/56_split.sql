-- What teams have of holders whose owners split them: every usage row is cut at edges, and what results is divided in order of team
-- by telescoping floor of the parts, so that parts always add up; then rows are added up by slot.
-- grain: unit x holder x slot x kind of use. units: ms, mJ
-- inputs: owned_at, usage, slice
-- parameters: from_day INT, to_day INT
-- output: split
WITH placed AS (
    SELECT o.unit_id, o.holder, o.use_no, o.parts_before, o.parts_before + o.parts AS parts_upto, s.slot_ms, u.mem_peak_bytes,
        CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END - u.from_ms AS a,
        CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms,
        u.covered_ms, u.effective_ms, u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms, u.energy_mj
    FROM owned_at o
    JOIN usage u ON u.unit_id = o.unit_id AND u.holder = o.holder
    JOIN slice s ON s.cell = u.cell AND s.epoch_ms = o.epoch_ms AND (s.whole OR (u.from_ms < s.to_ms AND u.to_ms > s.from_ms))
    WHERE o.parts < 10000 AND u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
),
cut AS (
    SELECT unit_id, holder, use_no, slot_ms, parts_before, parts_upto, mem_peak_bytes,
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
        energy_mj * b / len - energy_mj * a / len AS energy_mj
    FROM placed
),
shared AS (
    SELECT unit_id, holder, use_no, slot_ms, mem_peak_bytes,
        busy_ms * parts_upto / 10000 - busy_ms * parts_before / 10000 AS busy_ms,
        held_idle_ms * parts_upto / 10000 - held_idle_ms * parts_before / 10000 AS held_idle_ms,
        held_unmeasured_ms * parts_upto / 10000 - held_unmeasured_ms * parts_before / 10000 AS held_unmeasured_ms,
        unallocated_ms * parts_upto / 10000 - unallocated_ms * parts_before / 10000 AS unallocated_ms,
        unavailable_ms * parts_upto / 10000 - unavailable_ms * parts_before / 10000 AS unavailable_ms,
        unobserved_ms * parts_upto / 10000 - unobserved_ms * parts_before / 10000 AS unobserved_ms,
        covered_ms * parts_upto / 10000 - covered_ms * parts_before / 10000 AS covered_ms,
        effective_ms * parts_upto / 10000 - effective_ms * parts_before / 10000 AS effective_ms,
        held_zero_ms * parts_upto / 10000 - held_zero_ms * parts_before / 10000 AS held_zero_ms,
        over_share_ms * parts_upto / 10000 - over_share_ms * parts_before / 10000 AS over_share_ms,
        conflict_ms * parts_upto / 10000 - conflict_ms * parts_before / 10000 AS conflict_ms,
        estimated_ms * parts_upto / 10000 - estimated_ms * parts_before / 10000 AS estimated_ms,
        foreign_ms * parts_upto / 10000 - foreign_ms * parts_before / 10000 AS foreign_ms,
        energy_mj * parts_upto / 10000 - energy_mj * parts_before / 10000 AS energy_mj
    FROM cut
)
SELECT unit_id, holder, slot_ms, use_no,
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
FROM shared
GROUP BY unit_id, holder, slot_ms, use_no
