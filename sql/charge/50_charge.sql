-- Charges: usage with owner, pool, tier and price. An edge inside a usage row divides each of its measures as
-- floor(v x (edge - from) / (to - from)), the last part takes the rest; owner splits divide what results in order of team,
-- by telescoping floor of the parts, so that parts always add up.
-- grain: unit x holder x local day x team x cost centre x rate version. units: ms
-- inputs: owned, rate_span, used
-- parameters: none
-- output: charge
WITH priced AS (
    SELECT o.unit_id, o.cell, o.holder, o.from_ms, o.task_type, o.model, o.pool, o.tier, o.team, o.cost_center,
        o.parts, o.parts_before, r.rate_id, r.price_micros, r.currency,
        CASE WHEN o.a_ms > r.from_ms THEN o.a_ms ELSE r.from_ms END AS a_ms,
        CASE WHEN o.b_ms < r.to_ms THEN o.b_ms ELSE r.to_ms END AS b_ms
    FROM owned o
    JOIN rate_span r ON r.rate_key = o.rate_key AND r.from_ms < o.b_ms AND r.to_ms > o.a_ms
),
placed AS (
    SELECT p.*, u.local_day, u.local_month, p.a_ms - u.from_ms AS a, p.b_ms - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms,
        u.covered_ms, u.effective_ms, u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms,
        u.mem_peak_bytes, u.energy_mj
    FROM priced p
    JOIN used u ON u.unit_id = p.unit_id AND u.cell = p.cell AND u.holder = p.holder AND u.from_ms = p.from_ms
),
cut AS (
    SELECT unit_id, holder, local_day, local_month, task_type, model, pool, tier, team, cost_center, parts, parts_before,
        rate_id, price_micros, currency, mem_peak_bytes,
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
    SELECT unit_id, holder, local_day, local_month, task_type, model, pool, tier, team, cost_center, rate_id, price_micros,
        currency, mem_peak_bytes,
        busy_ms * (parts_before + parts) / 10000 - busy_ms * parts_before / 10000 AS busy_ms,
        held_idle_ms * (parts_before + parts) / 10000 - held_idle_ms * parts_before / 10000 AS held_idle_ms,
        held_unmeasured_ms * (parts_before + parts) / 10000 - held_unmeasured_ms * parts_before / 10000 AS held_unmeasured_ms,
        unallocated_ms * (parts_before + parts) / 10000 - unallocated_ms * parts_before / 10000 AS unallocated_ms,
        unavailable_ms * (parts_before + parts) / 10000 - unavailable_ms * parts_before / 10000 AS unavailable_ms,
        unobserved_ms * (parts_before + parts) / 10000 - unobserved_ms * parts_before / 10000 AS unobserved_ms,
        covered_ms * (parts_before + parts) / 10000 - covered_ms * parts_before / 10000 AS covered_ms,
        effective_ms * (parts_before + parts) / 10000 - effective_ms * parts_before / 10000 AS effective_ms,
        held_zero_ms * (parts_before + parts) / 10000 - held_zero_ms * parts_before / 10000 AS held_zero_ms,
        over_share_ms * (parts_before + parts) / 10000 - over_share_ms * parts_before / 10000 AS over_share_ms,
        conflict_ms * (parts_before + parts) / 10000 - conflict_ms * parts_before / 10000 AS conflict_ms,
        estimated_ms * (parts_before + parts) / 10000 - estimated_ms * parts_before / 10000 AS estimated_ms,
        foreign_ms * (parts_before + parts) / 10000 - foreign_ms * parts_before / 10000 AS foreign_ms,
        energy_mj * (parts_before + parts) / 10000 - energy_mj * parts_before / 10000 AS energy_mj
    FROM cut
)
SELECT unit_id, holder, local_day, local_month, task_type, model, pool, tier, team, cost_center, rate_id, price_micros,
    currency,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
    CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS BIGINT) AS held_ms,
    CAST(sum(unallocated_ms) AS BIGINT) AS unallocated_ms, CAST(sum(unavailable_ms) AS BIGINT) AS unavailable_ms,
    CAST(sum(unobserved_ms) AS BIGINT) AS unobserved_ms, CAST(sum(covered_ms) AS BIGINT) AS covered_ms,
    CAST(sum(effective_ms) AS BIGINT) AS effective_ms,
    -- held time for which effective time is known: what is missing beside it is not a gap but not known
    CAST(sum(CASE WHEN effective_ms IS NOT NULL THEN busy_ms + held_idle_ms + held_unmeasured_ms ELSE 0 END) AS BIGINT)
        AS judged_ms,
    CAST(sum(held_zero_ms) AS BIGINT) AS held_zero_ms, CAST(sum(over_share_ms) AS BIGINT) AS over_share_ms,
    CAST(sum(conflict_ms) AS BIGINT) AS conflict_ms, CAST(sum(estimated_ms) AS BIGINT) AS estimated_ms,
    CAST(sum(foreign_ms) AS BIGINT) AS foreign_ms, max(mem_peak_bytes) AS mem_peak_bytes,
    CAST(sum(energy_mj) AS BIGINT) AS energy_mj
FROM shared
GROUP BY unit_id, holder, local_day, local_month, task_type, model, pool, tier, team, cost_center, rate_id, price_micros,
    currency
