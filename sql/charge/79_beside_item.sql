-- Money that is no unit's and no holder's, by local day: reserved capacity, which the team pays and the platform is credited with
-- (negative unbilled_held); reserved time that nobody held, which comes off what nobody used and is borne by what was paid for it
-- (unbilled_held); and what teams take over of what nobody used, with as much taken from the platform (shared_out; reason: its class).
-- So within a quota the platform's unbilled_held is what was held less what was reserved: where all prices are one, minus what was lent.
-- grain: item. units: ms, millionths of the currency per GPU-hour
-- inputs: reserved, tariff, idle_item, shared
-- parameters: none
-- output: beside_item
SELECT 'reserved' AS kind, false AS platform, r.team, t.cost_center, t.pool, t.tier, t.model, t.mode, t.rate_id, t.list_price_micros,
    t.price_micros, t.discount, t.currency, CAST(NULL AS VARCHAR) AS reason, r.local_day, r.local_month, r.quantity_ms
FROM reserved r
JOIN tariff t ON t.tariff_no = r.tariff_no
UNION ALL
SELECT 'unbilled_held', true, NULL, NULL, t.pool, t.tier, t.model, t.mode, t.rate_id, t.list_price_micros, t.price_micros, t.discount,
    t.currency, NULL, r.local_day, r.local_month, -r.quantity_ms
FROM reserved r
JOIN tariff t ON t.tariff_no = r.tariff_no
UNION ALL
SELECT class, true, NULL, NULL, pool, tier, model, mode, rate_id, list_price_micros, list_price_micros AS price_micros, NULL, currency, NULL, local_day,
    local_month, -taken_ms
FROM idle_item
WHERE taken_ms <> 0
UNION ALL
SELECT 'unbilled_held', true, NULL, NULL, pool, tier, model, mode, rate_id, list_price_micros, list_price_micros AS price_micros, NULL, currency, NULL,
    local_day, local_month, taken_ms
FROM idle_item
WHERE taken_ms <> 0
UNION ALL
SELECT 'shared_' || i.class, false, s.team, s.cost_center, i.pool, i.tier, i.model, i.mode, i.rate_id, i.list_price_micros,
    i.list_price_micros AS price_micros, NULL, i.currency, NULL, i.local_day, i.local_month, s.ms
FROM shared s
JOIN idle_item i ON i.item_no = s.item_no
WHERE s.ms <> 0
UNION ALL
SELECT 'shared_out', true, NULL, NULL, i.pool, i.tier, i.model, i.mode, i.rate_id, i.list_price_micros, i.list_price_micros AS price_micros, NULL,
    i.currency, i.class, i.local_day, i.local_month, -s.ms
FROM shared s
JOIN idle_item i ON i.item_no = s.item_no
WHERE s.ms <> 0
