-- Who pays for what each holder (or nobody) had on each unit in each epoch, in which pool and tier, on which terms: a row a
-- paying team, with its parts of 10 000 and the parts before it. Nobody's time has no team.
-- use_key: everything that a price or a line depends on. rate_key: of it, what a rate looks at.
-- grain: unit x holder x epoch x team x cost centre
-- inputs: slot_use, price_slot, place_of, pool_span, tier_span, owner_span, pool_terms
-- parameters: none
-- output: placed
WITH here AS (
    SELECT DISTINCT p.unit_id, p.holder, s.epoch_ms
    FROM slot_use p
    JOIN price_slot s ON s.slot_ms = p.slot_ms
),
dated AS (
    SELECT h.unit_id, h.holder, h.epoch_ms, p.task_type, p.model, p.preemptible, s.pool, t.tier, o.team, o.cost_center,
        coalesce(o.parts, 10000) AS parts, coalesce(o.parts_before, 0) AS parts_before, h.holder = 0 AS nobody,
        m.mode, m.share_unallocated, m.share_unavailable, m.share_unobserved, m.kwh_micros
    FROM here h
    JOIN place_of p ON p.unit_id = h.unit_id AND p.holder = h.holder
    JOIN pool_span s ON s.pool_key = p.pool_key AND s.from_ms <= h.epoch_ms AND s.to_ms > h.epoch_ms
    JOIN tier_span t ON t.tier_key = p.tier_key AND t.from_ms <= h.epoch_ms AND t.to_ms > h.epoch_ms
    JOIN pool_terms m ON m.pool = s.pool AND m.epoch_ms = h.epoch_ms
    LEFT JOIN owner_span o ON o.owner_key = p.owner_key AND o.from_ms <= h.epoch_ms AND o.to_ms > h.epoch_ms
),
keyed AS (
    SELECT *, coalesce(team, '') || chr(31) || task_type || chr(31) || pool || chr(31) || coalesce(model, '') || chr(31)
        || coalesce(tier, '') || chr(31) || CASE WHEN nobody THEN 'nobody' ELSE 'held' END AS rate_key
    FROM dated
)
SELECT *, rate_key || chr(31) || CASE WHEN cost_center IS NULL THEN '' ELSE '=' || cost_center END || chr(31) || mode || chr(31)
    || share_unallocated || chr(31) || share_unavailable || chr(31) || share_unobserved || chr(31)
    || coalesce(CAST(kwh_micros AS VARCHAR), '') || chr(31) || CASE WHEN preemptible THEN 'preemptible' ELSE '' END AS use_key
FROM keyed
