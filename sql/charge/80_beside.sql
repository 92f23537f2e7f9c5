-- Money that is no holder's, numbered.
-- grain: item. key: beside_no. units: ms, millionths of the currency per GPU-hour
-- inputs: beside_item
-- parameters: none
-- output: beside
SELECT CAST(row_number() OVER (ORDER BY kind, team, cost_center, pool, local_day, tier, model, mode, rate_id, list_price_micros,
    price_micros, discount, currency, reason, quantity_ms) AS BIGINT) AS beside_no, *
FROM beside_item
