-- Idle time by cell with who pays for it at which price: held_idle divided over pieces and owners exactly as 50_charge divides
-- it, so that both add up to the same.
-- grain: unit x cell x holder x team x cost centre x rate version. units: ms
-- inputs: owned, rate_span, used
-- parameters: none
-- output: idle_cell
WITH idle AS (
    SELECT unit_id, cell, holder, from_ms, to_ms, held_idle_ms FROM used WHERE held_idle_ms > 0
),
priced AS (
    SELECT o.unit_id, o.cell, o.holder, o.model, o.pool, o.tier, o.team, o.cost_center, o.parts, o.parts_before,
        r.price_micros, r.currency, i.held_idle_ms, i.to_ms - i.from_ms AS len,
        CASE WHEN o.a_ms > r.from_ms THEN o.a_ms ELSE r.from_ms END - i.from_ms AS a,
        CASE WHEN o.b_ms < r.to_ms THEN o.b_ms ELSE r.to_ms END - i.from_ms AS b
    FROM idle i
    JOIN owned o ON o.unit_id = i.unit_id AND o.cell = i.cell AND o.holder = i.holder AND o.from_ms = i.from_ms
    JOIN rate_span r ON r.rate_key = o.rate_key AND r.from_ms < o.b_ms AND r.to_ms > o.a_ms
),
cut AS (
    SELECT *, held_idle_ms * b / len - held_idle_ms * a / len AS piece_ms FROM priced
)
SELECT unit_id, cell, holder, coalesce(team, '(platform)') AS team, coalesce(cost_center, '-') AS cost_center, pool,
    coalesce(tier, '-') AS tier, coalesce(model, '-') AS model, price_micros, currency,
    CAST(sum(piece_ms * (parts_before + parts) / 10000 - piece_ms * parts_before / 10000) AS BIGINT) AS held_idle_ms
FROM cut
GROUP BY unit_id, cell, holder, team, cost_center, pool, tier, model, price_micros, currency
