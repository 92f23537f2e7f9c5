-- States of nodes, newest reading of each interval, clipped to the as-of: `down` for drained, down and maintenance, else
-- `up`. A live source writes what changes: its row without an end lasts to its next row about the node, else to its newest
-- successful look; and `up` is proved only while the source is watched (`11_watched`), because between distant looks nobody
-- knows.
-- grain: node x interval. units: epoch ms
-- inputs: node_state, as_of, look, watched
-- parameters: none
-- output: node_span
WITH told AS (
    SELECT n.*, l.source AS live, l.seen_ms
    FROM node_state n
    LEFT JOIN look l ON l.cluster = n.cluster AND l.source = n.source
),
newest AS (
    SELECT *,
        row_number() OVER (PARTITION BY cluster, node, from_ms, live ORDER BY as_of_ms DESC, to_ms DESC, state) AS place
    FROM told
),
following AS (
    SELECT *, lead(from_ms) OVER (PARTITION BY cluster, node, live ORDER BY from_ms) AS next_ms FROM newest WHERE place = 1
),
ended AS (
    SELECT cluster, node, state, live, from_ms,
        CASE
            WHEN live IS NULL OR to_ms IS NOT NULL THEN to_ms
            WHEN next_ms < seen_ms THEN next_ms
            ELSE seen_ms
        END AS to_ms
    FROM following
),
clipped AS (
    SELECT n.cluster, n.node, n.state <> 'up' AS down, n.live, n.from_ms,
        CASE WHEN n.to_ms < a.as_of_ms THEN n.to_ms ELSE a.as_of_ms END AS to_ms
    FROM ended n
    JOIN as_of a ON a.cluster = n.cluster
),
proved AS (
    SELECT cluster, node, down, from_ms, to_ms FROM clipped WHERE down OR live IS NULL
    UNION ALL
    SELECT c.cluster, c.node, c.down,
        CASE WHEN c.from_ms > w.from_ms THEN c.from_ms ELSE w.from_ms END,
        CASE WHEN c.to_ms < w.to_ms THEN c.to_ms ELSE w.to_ms END
    FROM clipped c
    JOIN watched w ON w.cluster = c.cluster AND w.source = c.live AND w.from_ms < c.to_ms AND w.to_ms > c.from_ms
    WHERE NOT c.down
)
SELECT cluster, node, down, from_ms, to_ms FROM proved WHERE to_ms > from_ms
