-- The charges behind the changed keys of a closed period: what is known now less what was charged, by usage day. Names of a place
-- are those that are known now, else those that were charged; they are looked up for what differs alone, which is a small part of
-- what is compared.
-- grain: line_key x unit x holder x local day. units: ms, exact money
-- inputs: keyed_line, change, fresh_charge, written_charge
-- parameters: none
-- output: charge_change
WITH key_of AS (
    SELECT line_key, statement_key, price_micros, CAST(row_number() OVER (ORDER BY line_key) AS BIGINT) AS key_no FROM change
),
line AS (
    SELECT l.side, l.close_id, l.line_id, k.key_no
    FROM keyed_line l
    JOIN key_of k ON k.line_key = l.line_key
),
sides AS (
    SELECT l.key_no, c.unit_id, c.holder, c.local_day, c.quantity_ms, c.held_ms, c.busy_ms, c.held_idle_ms, c.held_unmeasured_ms,
        c.energy_mj, c.exact
    FROM fresh_charge c
    JOIN line l ON l.side > 0 AND l.line_id = c.line_id
    UNION ALL
    SELECT l.key_no, c.unit_id, c.holder, c.local_day, -c.quantity_ms, -c.held_ms, -c.busy_ms, -c.held_idle_ms,
        -c.held_unmeasured_ms, -c.energy_mj, -c.exact
    FROM written_charge c
    JOIN line l ON l.side < 0 AND l.close_id = c.close_id AND l.line_id = c.line_id
),
differs AS (
    SELECT key_no, unit_id, holder, local_day,
        CAST(sum(quantity_ms) AS BIGINT) AS quantity_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
        CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
        CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms,
        CASE WHEN count(energy_mj) = count(*) THEN CAST(sum(energy_mj) AS BIGINT) END AS energy_mj,
        CAST(sum(exact) AS DECIMAL(38, 0)) AS exact
    FROM sides
    GROUP BY key_no, unit_id, holder, local_day
    HAVING sum(exact) <> 0 OR sum(quantity_ms) <> 0 OR sum(held_ms) <> 0 OR sum(busy_ms) <> 0 OR sum(held_idle_ms) <> 0
        OR sum(held_unmeasured_ms) <> 0
),
name AS (
    SELECT l.side, d.key_no, d.unit_id, d.holder, d.local_day, c.node, c.device, c.cluster, c.job, c."user", c.account
    FROM fresh_charge c
    JOIN line l ON l.side > 0 AND l.line_id = c.line_id
    JOIN differs d ON d.key_no = l.key_no AND d.unit_id = c.unit_id AND d.holder = c.holder AND d.local_day = c.local_day
    UNION ALL
    SELECT l.side, d.key_no, d.unit_id, d.holder, d.local_day, c.node, c.device, c.cluster, c.job, c."user", c.account
    FROM written_charge c
    JOIN line l ON l.side < 0 AND l.close_id = c.close_id AND l.line_id = c.line_id
    JOIN differs d ON d.key_no = l.key_no AND d.unit_id = c.unit_id AND d.holder = c.holder AND d.local_day = c.local_day
),
named AS (
    SELECT key_no, unit_id, holder, local_day,
        coalesce(max(CASE WHEN side > 0 THEN node END), max(node)) AS node,
        coalesce(max(CASE WHEN side > 0 THEN device END), max(device)) AS device,
        coalesce(max(CASE WHEN side > 0 THEN cluster END), max(cluster)) AS cluster,
        coalesce(max(CASE WHEN side > 0 THEN job END), max(job)) AS job,
        coalesce(max(CASE WHEN side > 0 THEN "user" END), max("user")) AS "user",
        coalesce(max(CASE WHEN side > 0 THEN account END), max(account)) AS account
    FROM name
    GROUP BY key_no, unit_id, holder, local_day
)
SELECT k.line_key, k.statement_key, k.price_micros, d.unit_id, d.holder, d.local_day, n.node, n.device, n.cluster, n.job, n."user",
    n.account, d.quantity_ms, d.held_ms, d.busy_ms, d.held_idle_ms, d.held_unmeasured_ms, d.energy_mj, d.exact
FROM differs d
JOIN key_of k ON k.key_no = d.key_no
JOIN named n ON n.key_no = d.key_no AND n.unit_id = d.unit_id AND n.holder = d.holder AND n.local_day = d.local_day
