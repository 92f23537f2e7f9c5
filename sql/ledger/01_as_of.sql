-- The as-of of a cluster: the end of what its newest successful reading speaks of. Nothing exists after it.
-- grain: cluster. key: cluster. units: epoch ms
-- inputs: reading
-- parameters: none
-- output: as_of
SELECT cluster, max(to_ms) AS as_of_ms
FROM reading
WHERE ok
GROUP BY cluster
