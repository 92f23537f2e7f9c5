-- States of nodes, newest reading of each interval, clipped to the as-of: `down` for drained, down and maintenance,
-- else `up`.
-- grain: node x interval. units: epoch ms
-- inputs: node_state, as_of
-- parameters: none
-- output: node_span
WITH newest AS (
    SELECT *,
        row_number() OVER (PARTITION BY cluster, node, from_ms ORDER BY as_of_ms DESC, to_ms DESC, state) AS place
    FROM node_state
),
clipped AS (
    SELECT n.cluster, n.node, n.state <> 'up' AS down, n.from_ms,
        CASE WHEN n.to_ms < a.as_of_ms THEN n.to_ms ELSE a.as_of_ms END AS to_ms
    FROM newest n
    JOIN as_of a ON a.cluster = n.cluster
    WHERE n.place = 1
)
SELECT cluster, node, down, from_ms, to_ms FROM clipped WHERE to_ms > from_ms
