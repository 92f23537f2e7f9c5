-- Looks at a scheduler in a period that failed and that no later look makes good: who held what in that time is not known. A look
-- that succeeded speaks of all the time since the one before it that did, so it closes the hole. (Where a node was not looked at,
-- its time is unmeasured or unobserved, and counted as such.)
-- grain: cluster x source. units: ms
-- inputs: reading
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: close_gap
SELECT 'gap' AS kind, f.cluster || '/' || f.source AS place, count(*) AS n, max(f.to_ms) - min(f.from_ms) AS ms,
    min(f.error) AS error
FROM reading f
LEFT JOIN reading g ON g.cluster = f.cluster AND g.kind = f.kind AND g.ok AND g.from_ms <= f.from_ms AND g.to_ms >= f.to_ms
WHERE NOT f.ok AND f.kind = 'scheduler' AND g.cluster IS NULL
    AND f.from_ms < CAST($to_ms AS BIGINT) AND f.to_ms >= CAST($from_ms AS BIGINT)
GROUP BY f.cluster || '/' || f.source
ORDER BY place
