-- What changed in a closed period since it was billed: the differences of each key whose exact money differs. A difference of
-- something that was not known on either side is not known.
-- grain: line_key. units: ms, exact money
-- inputs: keyed_line
-- parameters: none
-- output: change
SELECT line_key, statement_key, platform, team, cost_center, pool, tier, model, task_type, mode, rate_id, list_price_micros,
    price_micros, discount,
    CAST(sum(side * quantity_ms) AS BIGINT) AS quantity_ms, CAST(sum(side * held_ms) AS BIGINT) AS held_ms,
    CAST(sum(side * busy_ms) AS BIGINT) AS busy_ms, CAST(sum(side * held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(side * held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
    CAST(sum(side * covered_ms) AS BIGINT) AS covered_ms,
    CASE WHEN count(effective_ms) = count(*) THEN CAST(sum(side * effective_ms) AS BIGINT) END AS effective_ms,
    CASE WHEN count(energy_mj) = count(*) THEN CAST(sum(side * energy_mj) AS BIGINT) END AS energy_mj,
    CAST(sum(CASE WHEN side > 0 THEN exact ELSE -exact END) AS DECIMAL(38, 0)) AS exact
FROM keyed_line
GROUP BY line_key, statement_key, platform, team, cost_center, pool, tier, model, task_type, mode, rate_id,
    list_price_micros, price_micros, discount
HAVING sum(CASE WHEN side > 0 THEN exact ELSE -exact END) <> 0
