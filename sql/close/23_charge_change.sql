-- The charges behind the changed keys of a closed period, as they changed, with names. Names of a place are those that are known
-- now, else those that were charged.
-- grain: line_key x unit x holder x local day. units: ms, exact money
-- inputs: charge_differs, change, keyed_line, fresh_charge, written_charge
-- parameters: none
-- output: charge_change
WITH line AS (
    SELECT l.side, l.close_id, l.line_id, k.key_no
    FROM keyed_line l
    JOIN (SELECT DISTINCT line_key, key_no FROM charge_differs) k ON k.line_key = l.line_key
),
name AS (
    SELECT l.side, d.key_no, d.unit_id, d.holder, d.local_day, c.node, c.device, c.cluster, c.job, c."user", c.account
    FROM fresh_charge c
    JOIN line l ON l.side > 0 AND l.line_id = c.line_id
    JOIN charge_differs d ON d.key_no = l.key_no AND d.unit_id = c.unit_id AND d.holder = c.holder AND d.local_day = c.local_day
    UNION ALL
    SELECT l.side, d.key_no, d.unit_id, d.holder, d.local_day, c.node, c.device, c.cluster, c.job, c."user", c.account
    FROM written_charge c
    JOIN line l ON l.side < 0 AND l.close_id = c.close_id AND l.line_id = c.line_id
    JOIN charge_differs d ON d.key_no = l.key_no AND d.unit_id = c.unit_id AND d.holder = c.holder AND d.local_day = c.local_day
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
SELECT d.line_key, h.statement_key, h.price_micros, d.unit_id, d.holder, d.local_day, n.node, n.device, n.cluster, n.job, n."user",
    n.account, d.quantity_ms, d.held_ms, d.busy_ms, d.held_idle_ms, d.held_unmeasured_ms, d.energy_mj, d.exact
FROM charge_differs d
JOIN change h ON h.line_key = d.line_key
JOIN named n ON n.key_no = d.key_no AND n.unit_id = d.unit_id AND n.holder = d.holder AND n.local_day = d.local_day
