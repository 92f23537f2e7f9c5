-- Charges of a correction, under the ids of its lines. They name the day of use, and the period in which they are billed.
-- grain: line x unit x holder x local day. units: ms, exact money
-- inputs: charge_change, correction_id
-- parameters: close_id VARCHAR, period VARCHAR
-- output: correction_charge
SELECT CAST($close_id AS VARCHAR) AS close_id, CAST($period AS VARCHAR) AS period, i.line_id, c.unit_id, c.holder, c.local_day,
    c.node, c.device, c.cluster, c.job, c."user", c.account, c.quantity_ms, c.held_ms, c.busy_ms, c.held_idle_ms,
    c.held_unmeasured_ms, c.energy_mj, c.exact
FROM charge_change c
JOIN correction_id i ON i.line_key = c.line_key
ORDER BY line_id, local_day, unit_id, holder
