-- Input that was set aside and may belong to a period: of a file or look whose readings say which time it speaks of, where that
-- overlaps the period; of one that left no reading, always, because nobody knows.
-- grain: source
-- inputs: quarantine, reading
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: close_aside
WITH spoken AS (
    SELECT source, min(from_ms) AS from_ms, max(to_ms) AS to_ms FROM reading WHERE ok GROUP BY source
)
SELECT 'quarantined' AS kind, q.source AS place, count(*) AS n, min(q.reason) AS reason
FROM quarantine q
LEFT JOIN spoken s ON s.source = q.source
WHERE s.source IS NULL OR (s.from_ms < CAST($to_ms AS BIGINT) AND s.to_ms >= CAST($from_ms AS BIGINT))
GROUP BY q.source
ORDER BY place
