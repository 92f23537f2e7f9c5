-- L4: granted shares add up to at most the card (a device's cell has no more than its length), and what was asked for and
-- not granted is listed: it blocks a close until it is mended or waived.
-- grain: violation or conflict. units: ms
-- inputs: cell_sum, usage, unit, run
-- parameters: none
-- output: violation
SELECT u.uuid AS place, g.cell, CAST(NULL AS VARCHAR) AS job, CAST(g.held_ms - 900000 AS BIGINT) AS over_ms,
    'over the card' AS what
FROM cell_sum g
JOIN unit u ON u.unit_id = g.unit_id AND u.kind = 'device'
WHERE g.held_ms > 900000
UNION ALL
SELECT coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')), min(g.cell), r.cluster || '/' || r.job_raw,
    CAST(sum(g.conflict_ms) AS BIGINT), 'not granted'
FROM usage g
JOIN unit u ON u.unit_id = g.unit_id
LEFT JOIN run r ON r.holder = g.holder
WHERE g.conflict_ms > 0
GROUP BY coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')), r.cluster || '/' || r.job_raw
ORDER BY what, place, cell, job
