-- What becomes of charges: the lines that a tariff's time goes to, by kind, and those of money that is no holder's. Lines of the
-- platform name no team, cost centre or task type. Their keys become ids.
-- use: what the mode bills (held, or busy; showback: held, at nothing). reserved: what was held within a quota stands on the line of
-- the reserved capacity, priced there. overage: what was held above it. unbilled_held, to_settle: what the mode does not bill.
-- grain: tariff x kind, or item beside charges (the other number is 0). units: millionths of the currency per GPU-hour
-- inputs: tariff, beside
-- parameters: none
-- output: line_of
WITH line AS (
    SELECT tariff_no, 0 AS beside_no, CASE WHEN mode = 'quota' THEN 'overage' ELSE 'use' END AS kind, false AS platform, team, cost_center, pool, tier,
        model, task_type, mode, rate_id, list_price_micros, CASE WHEN mode = 'showback' THEN 0 ELSE price_micros END AS price_micros,
        discount, currency, CAST(NULL AS VARCHAR) AS reason
    FROM tariff
    WHERE payer AND NOT nobody AND NOT reserved AND (mode <> 'quota' OR borrowed)
    UNION ALL
    SELECT tariff_no, 0, 'unbilled_held', true, NULL, NULL, pool, tier, model, NULL, mode, rate_id, list_price_micros, price_micros,
        discount, currency, NULL
    FROM tariff
    WHERE NOT nobody AND NOT reserved AND (NOT payer OR mode IN ('busy', 'showback') OR (mode = 'quota' AND NOT borrowed))
    UNION ALL
    SELECT tariff_no, 0, 'to_settle', true, NULL, NULL, pool, tier, model, NULL, mode, rate_id, list_price_micros, price_micros,
        discount, currency, NULL
    FROM tariff
    WHERE payer AND NOT nobody AND NOT reserved AND mode = 'busy'
    UNION ALL
    SELECT t.tariff_no, 0, k.class, true, NULL, NULL, t.pool, t.tier, t.model, NULL, t.mode, t.rate_id, t.list_price_micros,
        t.list_price_micros AS price_micros, NULL, t.currency, NULL
    FROM tariff t
    CROSS JOIN (VALUES ('unallocated'), ('unavailable'), ('unobserved')) AS k (class)
    WHERE NOT t.reserved
    UNION ALL
    SELECT 0, beside_no, kind, platform, team, cost_center, pool, tier, model, NULL, mode, rate_id, list_price_micros, price_micros,
        discount, currency, reason
    FROM beside
)
SELECT CAST(tariff_no AS BIGINT) AS tariff_no, CAST(beside_no AS BIGINT) AS beside_no, kind, platform, coalesce(team, '(platform)') AS team, cost_center, pool, tier, model,
    task_type, mode, rate_id, list_price_micros, price_micros, discount, currency, reason,
    kind || chr(31) || coalesce(team, '(platform)') || chr(31) || coalesce('=' || cost_center, '') || chr(31) || pool || chr(31)
        || coalesce('=' || tier, '') || chr(31) || coalesce('=' || model, '') || chr(31) || coalesce('=' || task_type, '') || chr(31)
        || mode || chr(31) || coalesce(CAST(rate_id AS VARCHAR), '') || chr(31) || coalesce(CAST(list_price_micros AS VARCHAR), '')
        || chr(31) || coalesce(CAST(price_micros AS VARCHAR), '') || chr(31) || coalesce(discount, '') || chr(31)
        || coalesce(currency, '') || chr(31) || coalesce(reason, '') AS line_key
FROM line
