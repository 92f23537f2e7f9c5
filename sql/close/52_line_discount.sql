-- The multipliers that a line names.
-- grain: discount row. units: parts of 10 000, epoch ms
-- inputs: discount
-- parameters: names VARCHAR
-- output: line_discount
SELECT name, kind, team, task_type, pool, model, tier, days, from_minute, to_minute, factor_e4, from_ms, to_ms
FROM discount
WHERE strpos(',' || replace(CAST($names AS VARCHAR), ', ', ',') || ',', ',' || name || ',') > 0
ORDER BY name, from_ms, discount_id
