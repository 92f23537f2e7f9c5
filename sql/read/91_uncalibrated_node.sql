-- Models that send minutes and whose busy time was never compared with a known load (see 71_uncalibrated): of each the node whose
-- card of that model was seen first, because one calibration serves them all.
-- grain: model. units: epoch ms, cards
-- inputs: device, device_cell, calibration
-- parameters: from_day INT, to_day INT
-- output: uncalibrated_node
WITH version AS (
    SELECT *, row_number() OVER (PARTITION BY device_id ORDER BY first_seen_ms DESC, retired_ms NULLS FIRST, node) AS place,
        min(first_seen_ms) OVER (PARTITION BY device_id) AS since_ms
    FROM device
    WHERE parent_id IS NULL AND model IS NOT NULL
),
sending AS (
    SELECT DISTINCT device_id FROM device_cell WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
),
compared AS (
    SELECT DISTINCT model FROM calibration WHERE error_ppm IS NOT NULL
),
node AS (
    SELECT v.model, v.cluster, v.node, count(*) AS gpus, min(v.since_ms) AS since_ms
    FROM version v
    JOIN sending s ON s.device_id = v.device_id
    LEFT JOIN compared c ON c.model = v.model
    WHERE v.place = 1 AND v.retired_ms IS NULL AND c.model IS NULL
    GROUP BY v.model, v.cluster, v.node
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY model ORDER BY since_ms, cluster, node) AS place FROM node
)
SELECT model, cluster, node, gpus, since_ms FROM ranked WHERE place = 1 ORDER BY model
