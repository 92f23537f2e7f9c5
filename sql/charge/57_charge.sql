-- Charges: what each holder (or nobody) had on each unit on each local day, by tariff. What was borrowed is taken off what was
-- held within the quota, so that both add up to what was held.
-- grain: unit x holder x local day x tariff. key: unit_id, holder, local_day, tariff_no. units: ms, mJ
-- inputs: price_slot, slot_use, owned_at, split, borrowed_row, price
-- parameters: none
-- output: charge
WITH piece AS (
    SELECT p.unit_id, p.holder, p.slot_ms, o.use_no, false AS borrowed, p.busy_ms, p.held_idle_ms, p.held_unmeasured_ms,
        p.unallocated_ms, p.unavailable_ms, p.unobserved_ms, p.covered_ms, p.effective_ms, p.judged_ms, p.held_zero_ms,
        p.over_share_ms, p.conflict_ms, p.estimated_ms, p.foreign_ms, p.mem_peak_bytes, p.energy_mj
    FROM price_slot s
    JOIN slot_use p ON p.slot_ms = s.slot_ms
    JOIN owned_at o ON o.unit_id = p.unit_id AND o.holder = p.holder AND o.epoch_ms = s.epoch_ms
    WHERE o.parts = 10000
    UNION ALL
    SELECT unit_id, holder, slot_ms, use_no, false, busy_ms, held_idle_ms, held_unmeasured_ms, unallocated_ms, unavailable_ms,
        unobserved_ms, covered_ms, effective_ms, judged_ms, held_zero_ms, over_share_ms, conflict_ms, estimated_ms, foreign_ms,
        mem_peak_bytes, energy_mj
    FROM split
    UNION ALL
    SELECT unit_id, holder, slot_ms, use_no, true, busy_ms, held_idle_ms, held_unmeasured_ms, 0, 0, 0, covered_ms, effective_ms,
        judged_ms, held_zero_ms, over_share_ms, conflict_ms, estimated_ms, foreign_ms, mem_peak_bytes, energy_mj
    FROM borrowed_row
    UNION ALL
    SELECT unit_id, holder, slot_ms, use_no, false, -busy_ms, -held_idle_ms, -held_unmeasured_ms, 0, 0, 0, -covered_ms,
        -effective_ms, -judged_ms, -held_zero_ms, -over_share_ms, -conflict_ms, -estimated_ms, -foreign_ms, mem_peak_bytes,
        -energy_mj
    FROM borrowed_row
)
SELECT p.unit_id, p.holder, s.day AS local_day, s.month AS local_month, c.tariff_no,
    CAST(sum(p.busy_ms) AS BIGINT) AS busy_ms, CAST(sum(p.held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(p.held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
    CAST(sum(p.busy_ms + p.held_idle_ms + p.held_unmeasured_ms) AS BIGINT) AS held_ms,
    CAST(sum(p.unallocated_ms) AS BIGINT) AS unallocated_ms, CAST(sum(p.unavailable_ms) AS BIGINT) AS unavailable_ms,
    CAST(sum(p.unobserved_ms) AS BIGINT) AS unobserved_ms, CAST(sum(p.covered_ms) AS BIGINT) AS covered_ms,
    CAST(sum(p.effective_ms) AS BIGINT) AS effective_ms, CAST(sum(p.judged_ms) AS BIGINT) AS judged_ms,
    CAST(sum(p.held_zero_ms) AS BIGINT) AS held_zero_ms, CAST(sum(p.over_share_ms) AS BIGINT) AS over_share_ms,
    CAST(sum(p.conflict_ms) AS BIGINT) AS conflict_ms, CAST(sum(p.estimated_ms) AS BIGINT) AS estimated_ms,
    CAST(sum(p.foreign_ms) AS BIGINT) AS foreign_ms, max(p.mem_peak_bytes) AS mem_peak_bytes,
    CAST(sum(p.energy_mj) AS BIGINT) AS energy_mj
FROM price_slot s
JOIN piece p ON p.slot_ms = s.slot_ms
JOIN price c ON c.use_no = p.use_no AND c.phase_ms = s.phase_ms AND c.borrowed = p.borrowed
GROUP BY p.unit_id, p.holder, s.day, s.month, c.tariff_no
