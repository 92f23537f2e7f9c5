-- Charges as they are kept: the exact money behind a line, by unit, holder and local day. quantity_ms x price_micros = exact; without a
-- price there is no money.
-- grain: line x unit x holder x local day. units: ms, mJ, exact money
-- inputs: item, line, unit, run
-- parameters: close_id VARCHAR, period VARCHAR
-- output: charge_row
WITH summed AS (
    SELECT line_id, unit_id, holder, local_day, CAST(sum(quantity_ms) AS BIGINT) AS quantity_ms,
        CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
        CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms, CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
        CAST(sum(energy_mj) AS BIGINT) AS energy_mj
    FROM item
    GROUP BY line_id, unit_id, holder, local_day
)
SELECT CAST($close_id AS VARCHAR) AS close_id, CAST($period AS VARCHAR) AS period, s.line_id, s.unit_id, s.holder, s.local_day,
    u.node, CASE WHEN s.unit_id <> 0 THEN coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')) END AS device,
    coalesce(u.cluster, r.cluster) AS cluster, r.job_raw AS job, r."user", r.account,
    s.quantity_ms, s.held_ms, s.busy_ms, s.held_idle_ms, s.held_unmeasured_ms, s.energy_mj,
    CAST(s.quantity_ms AS DECIMAL(38, 0)) * CAST(coalesce(l.price_micros, 0) AS DECIMAL(20, 0)) AS exact
FROM line l
JOIN summed s ON s.line_id = l.line_id
LEFT JOIN unit u ON u.unit_id = s.unit_id
LEFT JOIN run r ON r.holder = s.holder
ORDER BY line_id, local_day, unit_id, holder
