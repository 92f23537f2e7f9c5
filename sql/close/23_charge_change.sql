-- The charges behind the changed keys of a closed period: what is known now less what was charged, by usage day. Names of a place
-- are those that are known now, else those that were charged.
-- grain: line_key x unit x holder x local day. units: ms, exact money
-- inputs: keyed_line, change, fresh_charge, written_charge
-- parameters: none
-- output: charge_change
WITH sides AS (
    SELECT k.line_key, k.statement_key, k.price_micros, k.side, c.unit_id, c.holder, c.local_day, c.node, c.device, c.cluster,
        c.job, c."user", c.account, c.quantity_ms, c.held_ms, c.busy_ms, c.held_idle_ms, c.held_unmeasured_ms, c.energy_mj,
        c.exact
    FROM fresh_charge c
    JOIN (SELECT l.* FROM keyed_line l JOIN change h ON h.line_key = l.line_key WHERE l.side > 0) k ON k.line_id = c.line_id
    UNION ALL
    SELECT k.line_key, k.statement_key, k.price_micros, k.side, c.unit_id, c.holder, c.local_day, c.node, c.device, c.cluster,
        c.job, c."user", c.account, -c.quantity_ms, -c.held_ms, -c.busy_ms, -c.held_idle_ms, -c.held_unmeasured_ms,
        -c.energy_mj, -c.exact
    FROM written_charge c
    JOIN (SELECT l.* FROM keyed_line l JOIN change h ON h.line_key = l.line_key WHERE l.side < 0) k
        ON k.close_id = c.close_id AND k.line_id = c.line_id
)
SELECT line_key, statement_key, price_micros, unit_id, holder, local_day,
    coalesce(max(CASE WHEN side > 0 THEN node END), max(node)) AS node,
    coalesce(max(CASE WHEN side > 0 THEN device END), max(device)) AS device,
    coalesce(max(CASE WHEN side > 0 THEN cluster END), max(cluster)) AS cluster,
    coalesce(max(CASE WHEN side > 0 THEN job END), max(job)) AS job,
    coalesce(max(CASE WHEN side > 0 THEN "user" END), max("user")) AS "user",
    coalesce(max(CASE WHEN side > 0 THEN account END), max(account)) AS account,
    CAST(sum(quantity_ms) AS BIGINT) AS quantity_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
    CASE WHEN count(energy_mj) = count(*) THEN CAST(sum(energy_mj) AS BIGINT) END AS energy_mj,
    CAST(sum(exact) AS DECIMAL(38, 0)) AS exact
FROM sides
GROUP BY line_key, statement_key, price_micros, unit_id, holder, local_day
HAVING sum(exact) <> 0 OR sum(quantity_ms) <> 0 OR sum(held_ms) <> 0 OR sum(busy_ms) <> 0 OR sum(held_idle_ms) <> 0
    OR sum(held_unmeasured_ms) <> 0
