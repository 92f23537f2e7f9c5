-- What the cards of the fleet cost in the window, by model and tier: the price of time that somebody held, before discounts.
-- grain: model x tier. key: model, tier. units: price_micros per GPU-hour, bytes
-- inputs: fact, unit
-- parameters: none
-- output: place_price
SELECT f.model, f.tier, f.currency, min(f.list_price_micros) AS price_micros, max(u.memory_bytes) AS memory_bytes
FROM fact f
JOIN (SELECT model, max(memory_bytes) AS memory_bytes FROM unit GROUP BY model) u ON u.model = f.model
WHERE f.holder > 0 AND f.list_price_micros IS NOT NULL AND u.memory_bytes IS NOT NULL
GROUP BY f.model, f.tier, f.currency
