-- The time a sample of a host stands for: from the sample before it to its own. The very first stands for nothing,
-- nor does one whose predecessor is more than a day older (nobody knows that time).
-- grain: host x sample. key: cluster, node, group_ms. units: epoch ms
-- inputs: stamp_group
-- parameters: none
-- output: sample_tick
WITH one AS (
    SELECT DISTINCT cluster, node, group_ms FROM stamp_group
),
ordered AS (
    SELECT cluster, node, group_ms,
        lag(group_ms) OVER (PARTITION BY cluster, node ORDER BY group_ms) AS from_ms,
        row_number() OVER (PARTITION BY cluster, node ORDER BY group_ms) AS seq
    FROM one
)
SELECT cluster, node, group_ms, from_ms, group_ms AS to_ms, CAST(seq AS BIGINT) AS seq
FROM ordered
WHERE group_ms - from_ms <= 86400000
