-- Lines of statements with their exact money, before any rounding. `energy_mj` and `effective_ms` are absent where none was known.
-- grain: line. key: line_id. units: ms, mJ, exact money
-- inputs: item, line
-- parameters: close_id VARCHAR, period VARCHAR
-- output: statement_row
WITH summed AS (
    SELECT line_id, CAST(sum(quantity_ms) AS BIGINT) AS quantity_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
        CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
        CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms, CAST(sum(covered_ms) AS BIGINT) AS covered_ms,
        CAST(sum(effective_ms) AS BIGINT) AS effective_ms, CAST(sum(energy_mj) AS BIGINT) AS energy_mj
    FROM item
    GROUP BY line_id
)
SELECT CAST($close_id AS VARCHAR) AS close_id, CAST($period AS VARCHAR) AS period, l.line_id, l.kind, l.platform, l.team, l.cost_center,
    l.pool, l.tier, l.model, l.task_type, l.mode, l.rate_id, l.list_price_micros, l.price_micros, l.discount, l.currency,
    s.quantity_ms, s.held_ms, s.busy_ms, s.held_idle_ms, s.held_unmeasured_ms, s.covered_ms, s.effective_ms, s.energy_mj,
    CAST(s.quantity_ms AS DECIMAL(38, 0)) * CAST(coalesce(l.price_micros, 0) AS DECIMAL(20, 0)) AS exact, l.reason
FROM line l
JOIN summed s ON s.line_id = l.line_id
