-- Three lists of GPUs by node, set against one another at one instant: the asset register (inventory), what the driver shows
-- (device: physical cards not retired, by the newest version of their facts), and what the scheduler offers (the newest
-- node_offer of each resource, its count x the share of a card it stands for). measured: cards with a minute in state ok in
-- the window before the instant. What a source never named is absent, not 0; inventory of a whole cluster has no node.
-- grain: cluster x node. units: cards (offered in share units)
-- inputs: inventory, device, device_cell, node_offer
-- parameters: at_ms BIGINT, from_day INT, to_day INT
-- output: asset
WITH registered AS (
    SELECT cluster, coalesce(node, '*') AS node, CAST(sum(gpus) AS BIGINT) AS registered, min(model) AS model
    FROM inventory
    WHERE from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
    GROUP BY cluster, coalesce(node, '*')
),
version AS (
    SELECT *, row_number() OVER (PARTITION BY device_id ORDER BY first_seen_ms DESC, retired_ms NULLS FIRST, node) AS place
    FROM device
    WHERE parent_id IS NULL AND first_seen_ms <= CAST($at_ms AS BIGINT)
),
lately AS (
    SELECT DISTINCT device_id FROM device_cell
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT) AND cell * 900000 < CAST($at_ms AS BIGINT)
),
seen AS (
    SELECT v.cluster, v.node, count(*) AS seen, count(l.device_id) AS measured, min(v.model) AS model
    FROM version v
    LEFT JOIN lately l ON l.device_id = v.device_id
    WHERE v.place = 1 AND (v.retired_ms IS NULL OR v.retired_ms > CAST($at_ms AS BIGINT))
    GROUP BY v.cluster, v.node
),
newest AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, node, resource ORDER BY as_of_ms DESC, count) AS place
    FROM node_offer
    WHERE as_of_ms <= CAST($at_ms AS BIGINT)
),
offered AS (
    SELECT cluster, node, CAST(sum(count * unit_units) AS BIGINT) AS offered_units, min(model) AS model
    FROM newest
    WHERE place = 1
    GROUP BY cluster, node
),
three AS (
    SELECT cluster, node, model, registered, CAST(NULL AS BIGINT) AS seen, CAST(NULL AS BIGINT) AS measured,
        CAST(NULL AS BIGINT) AS offered_units, 1 AS list
    FROM registered
    UNION ALL SELECT cluster, node, model, NULL, seen, measured, NULL, 2 FROM seen
    UNION ALL SELECT cluster, node, model, NULL, NULL, NULL, offered_units, 3 FROM offered
),
laid AS (
    -- a list has a node once, so that the greatest value is its only one
    SELECT cluster, node, max(registered) AS registered, max(seen) AS seen, max(measured) AS measured,
        max(offered_units) AS offered_units,
        coalesce(max(CASE WHEN list = 1 THEN model END), max(CASE WHEN list = 2 THEN model END), max(model)) AS model
    FROM three
    GROUP BY cluster, node
),
told AS (
    SELECT *, concat_ws(', ',
        CASE WHEN registered IS NULL THEN 'not registered' END,
        CASE WHEN seen IS NULL THEN 'not seen by the driver' WHEN seen < registered THEN 'fewer seen than registered'
            WHEN seen > registered THEN 'more seen than registered' END,
        CASE WHEN offered_units IS NULL THEN 'not offered' WHEN offered_units < seen * 72072000 THEN 'fewer offered than seen'
            WHEN offered_units > seen * 72072000 THEN 'more offered than seen'
            WHEN seen IS NULL AND offered_units < registered * 72072000 THEN 'fewer offered than registered'
            WHEN seen IS NULL AND offered_units > registered * 72072000 THEN 'more offered than registered' END,
        CASE WHEN measured < seen THEN 'seen and not measured' END) AS difference
    FROM laid
)
SELECT cluster, node, coalesce(model, '-') AS model, registered, seen, measured, offered_units / 72072000 AS offered,
    offered_units % 72072000 <> 0 AS offered_part, difference
FROM told
ORDER BY CASE WHEN difference = '' THEN 1 ELSE 0 END, cluster, node
