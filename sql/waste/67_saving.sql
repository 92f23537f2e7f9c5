-- Where most could be saved: what each team held in each queue and did not use, by money, then by time; the first three.
-- idle_ms was held and nothing ran; gap_ms was asked for and not turned into effective time, where that is known.
-- grain: team x queue. units: ms, exact money
-- inputs: run_gap
-- parameters: none
-- output: saving
SELECT team, queue, CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(held_idle_ms) AS BIGINT) AS idle_ms,
    CAST(sum(CASE WHEN effective_ms IS NOT NULL THEN gap_ms END) AS BIGINT) AS gap_ms,
    CAST(sum(waste_cost) AS DECIMAL(38, 0)) AS waste_cost
FROM run_gap
GROUP BY team, queue
HAVING sum(held_idle_ms) > 0
ORDER BY waste_cost DESC NULLS LAST, idle_ms DESC, team, queue
LIMIT 3
