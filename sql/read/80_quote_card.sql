-- What is known of a GPU model: memory and interconnect where all of its cards agree, else absent, and how many cards there are.
-- grain: one row. units: bytes, cards
-- inputs: unit, inventory
-- parameters: model VARCHAR
-- output: quote_card
WITH seen AS (
    SELECT memory_bytes, interconnect, 1 AS devices, 0 AS listed FROM unit WHERE kind = 'device' AND model = CAST($model AS VARCHAR)
    UNION ALL
    SELECT memory_bytes, interconnect, 0, gpus FROM inventory WHERE model = CAST($model AS VARCHAR) AND to_ms IS NULL
)
SELECT CASE WHEN count(DISTINCT memory_bytes) = 1 THEN max(memory_bytes) END AS memory_bytes,
    CASE WHEN count(DISTINCT interconnect) = 1 THEN max(interconnect) END AS interconnect,
    CAST(coalesce(CASE WHEN sum(devices) > sum(listed) THEN sum(devices) ELSE sum(listed) END, 0) AS BIGINT) AS cards
FROM seen
