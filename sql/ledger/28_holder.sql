-- Everybody who holds a named device in the window: runs of schedulers, sessions (they share the card equally), and
-- foreign use (only what is wholly free).
-- kind: 1 scheduler, 2 session, 3 foreign. instance_id: 0 is the card itself.
-- grain: device x holder x instance x interval. units: share units, epoch ms
-- inputs: held, session
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: holder
SELECT device_id, holder, coalesce(instance_id, 0) AS instance_id, 1 AS kind, evidence_rank, start_ms, share_units,
    CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS from_ms,
    CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS to_ms
FROM held
WHERE device_id IS NOT NULL AND from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
UNION ALL
SELECT device_id, holder, 0, CASE WHEN holder < 0 THEN 3 ELSE 2 END, CASE WHEN holder < 0 THEN 9 ELSE 3 END, from_ms AS start_ms,
    72072000,
    CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS from_ms,
    CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS to_ms
FROM session
WHERE from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
