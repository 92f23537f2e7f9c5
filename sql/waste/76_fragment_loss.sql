-- The fragment loss: free whole cards that waiting requests could have used by count and not by placement, tier, memory or
-- quota: per cluster and cell as many as they ask for together, at most those that were free. Kinds overlap in the same cards;
-- their sum is no loss.
-- grain: cluster. units: ms of whole cards
-- inputs: blocked_cell
-- parameters: none
-- output: fragment_loss
WITH asked AS (
    SELECT cluster, cell, sum(tasks * cards) AS cards, max(free_cards) AS free_cards
    FROM blocked_cell
    GROUP BY cluster, cell
)
SELECT cluster,
    CAST(sum(CASE WHEN cards < free_cards THEN cards ELSE free_cards END) * 900000 AS BIGINT) AS fragment_ms
FROM asked
GROUP BY cluster
