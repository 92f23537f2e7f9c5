-- Cards that the driver shows and no inventory names, at an instant. An inventory counts: of a node that it names the cards seen
-- last, beyond its number, are those; of a cluster that it names as a whole the same over the nodes that it does not name; else every
-- card of a node that it does not name. A cluster without inventory registers nothing, and is not looked at.
-- grain: card. units: epoch ms
-- inputs: inventory, device
-- parameters: at_ms BIGINT
-- output: unregistered
WITH registered AS (
    SELECT cluster, node, CAST(sum(gpus) AS BIGINT) AS gpus
    FROM inventory
    WHERE from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
    GROUP BY cluster, node
),
version AS (
    SELECT *, row_number() OVER (PARTITION BY device_id ORDER BY first_seen_ms DESC, retired_ms NULLS FIRST, node) AS place,
        min(first_seen_ms) OVER (PARTITION BY device_id) AS since_ms
    FROM device
    WHERE parent_id IS NULL AND first_seen_ms <= CAST($at_ms AS BIGINT)
),
card AS (
    SELECT v.cluster, v.node, v.uuid, v.model, v.since_ms, v.device_id, coalesce(n.gpus, c.gpus, 0) AS gpus,
        CASE WHEN n.node IS NULL THEN '' ELSE n.node END AS scope
    FROM version v
    JOIN (SELECT DISTINCT cluster FROM registered) k ON k.cluster = v.cluster
    LEFT JOIN registered n ON n.cluster = v.cluster AND n.node = v.node
    LEFT JOIN registered c ON c.cluster = v.cluster AND c.node IS NULL
    WHERE v.place = 1 AND (v.retired_ms IS NULL OR v.retired_ms > CAST($at_ms AS BIGINT))
),
ranked AS (
    SELECT *, CAST(row_number() OVER (PARTITION BY cluster, scope ORDER BY since_ms, device_id) AS BIGINT) AS number FROM card
)
SELECT cluster, node, uuid, coalesce(model, '-') AS model, since_ms
FROM ranked
WHERE number > gpus
ORDER BY cluster, node, uuid
