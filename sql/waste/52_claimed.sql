-- Which finding each idle millisecond belongs to: of the rules that claim a (unit, cell, holder) the first in order; what no
-- rule claims is `idle_other` of its holder. So the idle time of all findings adds up to that of the window.
-- grain: rule x holder x team x cost centre x pool x tier x model x currency. units: ms, exact money
-- inputs: idle_cell, use_kind, hit
-- parameters: none
-- output: claimed
WITH claim AS (
    SELECT DISTINCT rank, rule, holder, claim_holder, claim_unit_id, claim_from_cell, claim_to_cell
    FROM hit
    WHERE claim_from_cell < claim_to_cell
),
best AS (
    SELECT i.unit_id, i.cell, i.holder, min(c.rank) AS rank
    FROM (SELECT DISTINCT unit_id, cell, holder FROM idle_cell) i
    JOIN claim c ON c.claim_holder = i.holder AND (c.claim_unit_id IS NULL OR c.claim_unit_id = i.unit_id)
        AND c.claim_from_cell <= i.cell AND c.claim_to_cell > i.cell
    GROUP BY i.unit_id, i.cell, i.holder
),
leader AS (
    SELECT rank, claim_holder, max(rule) AS rule, min(holder) AS holder FROM claim GROUP BY rank, claim_holder
),
kind AS (
    SELECT use_no, coalesce(team, '(platform)') AS team, coalesce(cost_center, '-') AS cost_center, pool, coalesce(tier, '-') AS tier,
        coalesce(model, '-') AS model
    FROM use_kind
)
SELECT coalesce(d.rule, 'idle_other') AS rule, coalesce(d.rank, 22) AS rank, coalesce(d.holder, i.holder) AS holder,
    k.team, k.cost_center, k.pool, k.tier, k.model, coalesce(i.currency, '-') AS currency,
    CAST(sum(i.held_idle_ms) AS BIGINT) AS idle_ms,
    CAST(sum(CAST(i.held_idle_ms AS DECIMAL(38, 0)) * CAST(coalesce(i.price_micros, 0) AS DECIMAL(20, 0))) AS DECIMAL(38, 0))
        AS waste_cost
FROM idle_cell i
JOIN kind k ON k.use_no = i.use_no
LEFT JOIN best b ON b.unit_id = i.unit_id AND b.cell = i.cell AND b.holder = i.holder
LEFT JOIN leader d ON d.rank = b.rank AND d.claim_holder = i.holder
GROUP BY d.rule, d.rank, coalesce(d.holder, i.holder), k.team, k.cost_center, k.pool, k.tier, k.model, i.currency
