-- Node scatter: of the whole cards that are free in a cluster, those that no job of `size` cards on one node could take:
-- on each node the free cards less the greatest multiple of `size` among them.
-- grain: cluster x cell x size (2, 4, 8). units: cards
-- inputs: free_cell
-- parameters: none
-- output: scatter_cell
WITH node_cell AS (
    SELECT cluster, node, cell, CAST(sum(cards) AS BIGINT) AS cards FROM free_cell GROUP BY cluster, node, cell
),
sized AS (
    SELECT *, unnest(make_array(2, 4, 8)) AS size FROM node_cell
)
SELECT cluster, cell, size, CAST(sum(cards) AS BIGINT) AS free_cards, CAST(sum(cards % size) AS BIGINT) AS scattered_cards
FROM sized
GROUP BY cluster, cell, size
