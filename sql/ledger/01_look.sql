-- How far looks at a scheduler reach: the newest successful one of each source. A row that a live source wrote once counts
-- as long as looks of that source go on, because it writes again what changes; an import has no such looks.
-- grain: cluster x source. key: cluster, source. units: epoch ms
-- inputs: reading
-- parameters: none
-- output: look
SELECT cluster, source, max(to_ms) AS seen_ms
FROM reading
WHERE ok AND kind = 'scheduler'
GROUP BY cluster, source
