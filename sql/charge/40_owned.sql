-- Usage cut at every edge of owner, pool and tier: one row per piece and paying team. Nobody's time has no team.
-- grain: unit x cell x holder x piece x team. units: epoch ms
-- inputs: used, place_of, owner_span, pool_span, tier_span
-- parameters: none
-- output: owned
WITH dated AS (
    SELECT u.unit_id, u.cell, u.holder, u.from_ms,
        p.task_type, p.model, s.pool, t.tier, o.team, o.cost_center,
        coalesce(o.parts, 10000) AS parts, coalesce(o.parts_before, 0) AS parts_before,
        CASE WHEN u.a_ms > s.from_ms THEN u.a_ms ELSE s.from_ms END AS a1, CASE WHEN u.b_ms < s.to_ms THEN u.b_ms ELSE s.to_ms END AS b1,
        CASE WHEN t.from_ms > coalesce(o.from_ms, 0) THEN t.from_ms ELSE coalesce(o.from_ms, 0) END AS a2,
        CASE WHEN t.to_ms < coalesce(o.to_ms, 9000000000000000) THEN t.to_ms ELSE coalesce(o.to_ms, 9000000000000000) END AS b2
    FROM used u
    JOIN place_of p ON p.unit_id = u.unit_id AND p.holder = u.holder
    JOIN pool_span s ON s.pool_key = p.pool_key AND s.from_ms < u.b_ms AND s.to_ms > u.a_ms
    JOIN tier_span t ON t.tier_key = p.tier_key AND t.from_ms < u.b_ms AND t.to_ms > u.a_ms
    LEFT JOIN owner_span o ON o.owner_key = p.owner_key AND o.from_ms < u.b_ms AND o.to_ms > u.a_ms
)
SELECT unit_id, cell, holder, from_ms, task_type, model, pool, tier, team, cost_center, parts, parts_before,
    CASE WHEN a1 > a2 THEN a1 ELSE a2 END AS a_ms, CASE WHEN b1 < b2 THEN b1 ELSE b2 END AS b_ms,
    coalesce(team, '') || chr(31) || task_type || chr(31) || pool || chr(31) || coalesce(model, '') || chr(31)
        || coalesce(tier, '') || chr(31) || CASE WHEN holder = 0 THEN 'nobody' ELSE 'held' END AS rate_key
FROM dated
WHERE CASE WHEN a1 > a2 THEN a1 ELSE a2 END < CASE WHEN b1 < b2 THEN b1 ELSE b2 END
