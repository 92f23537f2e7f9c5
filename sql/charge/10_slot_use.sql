-- Usage of the asked window added up by slot: what the prices of a month are looked up for is then as many rows as cards and
-- holders have slots, not cells. A row that an edge (or the window's) cuts is divided first: each of its measures as
-- floor(v x (edge - from) / (to - from)), the last part takes the rest, so that parts always add up.
-- judged_ms: held time for which effective time is known; what is missing beside it is not a gap but not known.
-- grain: unit x holder x slot. key: unit_id, holder, slot_ms. units: ms, epoch ms
-- inputs: slice, usage
-- parameters: from_day INT, to_day INT
-- output: slot_use
WITH placed AS (
    SELECT u.unit_id, u.holder, s.slot_ms, s.whole,
        CASE WHEN u.from_ms > s.from_ms THEN u.from_ms ELSE s.from_ms END - u.from_ms AS a,
        CASE WHEN u.to_ms < s.to_ms THEN u.to_ms ELSE s.to_ms END - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms,
        u.covered_ms, u.effective_ms, u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms,
        u.mem_peak_bytes, u.energy_mj
    FROM slice s
    JOIN usage u ON u.cell = s.cell AND (s.whole OR (u.from_ms < s.to_ms AND u.to_ms > s.from_ms))
    WHERE u.day >= CAST($from_day AS INT) AND u.day <= CAST($to_day AS INT)
),
cut AS (
    SELECT unit_id, holder, slot_ms, mem_peak_bytes,
        CASE WHEN whole THEN busy_ms ELSE busy_ms * b / len - busy_ms * a / len END AS busy_ms,
        CASE WHEN whole THEN held_idle_ms ELSE held_idle_ms * b / len - held_idle_ms * a / len END AS held_idle_ms,
        CASE WHEN whole THEN held_unmeasured_ms ELSE held_unmeasured_ms * b / len - held_unmeasured_ms * a / len END
            AS held_unmeasured_ms,
        CASE WHEN whole THEN unallocated_ms ELSE unallocated_ms * b / len - unallocated_ms * a / len END AS unallocated_ms,
        CASE WHEN whole THEN unavailable_ms ELSE unavailable_ms * b / len - unavailable_ms * a / len END AS unavailable_ms,
        CASE WHEN whole THEN unobserved_ms ELSE unobserved_ms * b / len - unobserved_ms * a / len END AS unobserved_ms,
        CASE WHEN whole THEN covered_ms ELSE covered_ms * b / len - covered_ms * a / len END AS covered_ms,
        CASE WHEN whole THEN effective_ms ELSE effective_ms * b / len - effective_ms * a / len END AS effective_ms,
        CASE WHEN whole THEN held_zero_ms ELSE held_zero_ms * b / len - held_zero_ms * a / len END AS held_zero_ms,
        CASE WHEN whole THEN over_share_ms ELSE over_share_ms * b / len - over_share_ms * a / len END AS over_share_ms,
        CASE WHEN whole THEN conflict_ms ELSE conflict_ms * b / len - conflict_ms * a / len END AS conflict_ms,
        CASE WHEN whole THEN estimated_ms ELSE estimated_ms * b / len - estimated_ms * a / len END AS estimated_ms,
        CASE WHEN whole THEN foreign_ms ELSE foreign_ms * b / len - foreign_ms * a / len END AS foreign_ms,
        CASE WHEN whole THEN energy_mj ELSE energy_mj * b / len - energy_mj * a / len END AS energy_mj
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
