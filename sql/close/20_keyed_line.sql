-- Two sides of one closed period: what its lines would be by all that is known now (side 1), and what was billed for it, in its
-- own close and in corrections since (side -1). The key leaves out the kind: a correction has a kind of its own, and says what
-- moved by who pays, what was used, and at which price.
-- grain: side x close x line. units: ms, exact money, minor units
-- inputs: fresh_line, closed_line
-- parameters: period VARCHAR
-- output: keyed_line
WITH sides AS (
    SELECT 1 AS side, * FROM fresh_line WHERE period = CAST($period AS VARCHAR)
    UNION ALL
    SELECT -1, * FROM closed_line WHERE coalesce(corrects, period) = CAST($period AS VARCHAR)
)
SELECT CAST(side AS BIGINT) AS side, close_id, line_id, kind, platform, team, cost_center, pool, tier, model, task_type, mode,
    rate_id, list_price_micros, price_micros, discount, currency, quantity_ms, held_ms, busy_ms, held_idle_ms,
    held_unmeasured_ms, covered_ms, effective_ms, energy_mj, exact, amount_minor,
    CASE WHEN platform THEN 'platform' ELSE 'team' END || chr(31) || team || chr(31) || coalesce(cost_center, chr(30))
        AS statement_key,
    CASE WHEN platform THEN 'platform' ELSE 'team' END || chr(31) || team || chr(31) || coalesce(cost_center, chr(30))
        || chr(31) || coalesce(pool, chr(30)) || chr(31) || coalesce(tier, chr(30)) || chr(31) || coalesce(model, chr(30))
        || chr(31) || coalesce(task_type, chr(30)) || chr(31) || coalesce(mode, chr(30)) || chr(31)
        || coalesce(CAST(rate_id AS VARCHAR), chr(30)) || chr(31) || coalesce(CAST(list_price_micros AS VARCHAR), chr(30))
        || chr(31) || coalesce(CAST(price_micros AS VARCHAR), chr(30)) || chr(31) || coalesce(discount, chr(30)) AS line_key
FROM sides
