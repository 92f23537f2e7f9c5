-- The charges of a line, by who held what: greatest money first.
-- grain: holder x unit. units: ms, exact money, local days as YYYYMMDD
-- inputs: bill_charge
-- parameters: line_id BIGINT
-- output: line_charge
SELECT cluster, job, "user", account, node, device, min(local_day) AS first_day, max(local_day) AS last_day,
    CAST(sum(quantity_ms) AS BIGINT) AS quantity_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms, CAST(sum(exact) AS DECIMAL(38, 0)) AS exact, holder, unit_id
FROM bill_charge
WHERE line_id = CAST($line_id AS BIGINT)
GROUP BY cluster, job, "user", account, node, device, holder, unit_id
ORDER BY exact DESC, holder, unit_id, device, node
