-- The lines of a period with their ids.
-- grain: line. key: line_id
-- inputs: line_of, line_id
-- parameters: none
-- output: line
SELECT DISTINCT i.line_id, o.kind, o.platform, o.team, o.cost_center, o.pool, o.tier, o.model, o.task_type, o.mode, o.rate_id,
    o.list_price_micros, o.price_micros, o.discount, o.currency, o.reason
FROM line_of o
JOIN line_id i ON i.line_key = o.line_key
