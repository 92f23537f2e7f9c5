-- Where charges behind the changed keys of a closed period differ: what is known now less what was charged, by usage day. Keys go by
-- number here: text of a few hundred keys is not repeated for every charge that is compared.
-- grain: line_key x unit x holder x local day. key: key_no, unit_id, holder, local_day. units: ms, exact money
-- inputs: keyed_line, change, fresh_charge, written_charge
-- parameters: none
-- output: charge_differs
WITH key_of AS (
    SELECT line_key, CAST(row_number() OVER (ORDER BY line_key) AS BIGINT) AS key_no FROM change
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
)
SELECT k.line_key, d.*
FROM differs d
JOIN key_of k ON k.key_no = d.key_no
