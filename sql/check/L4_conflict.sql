-- L4: what was asked for and not granted, for a list: it blocks a close until it is mended or waived.
-- grain: place x job: its first cell. units: ms
-- inputs: usage, unit, run
-- parameters: none
-- output: conflict
SELECT coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')) AS place, min(g.cell) AS cell, r.cluster || '/' || r.job_raw AS job,
    CAST(sum(g.conflict_ms) AS BIGINT) AS not_granted_ms
FROM usage g
JOIN unit u ON u.unit_id = g.unit_id
LEFT JOIN run r ON r.holder = g.holder
WHERE g.conflict_ms > 0
GROUP BY coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')), r.cluster || '/' || r.job_raw
ORDER BY place, cell, job
