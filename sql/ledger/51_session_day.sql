-- Who the sessions and foreign users of the window were: one row per UTC day and holder, from their process rows and
-- samples.
-- grain: day x holder. key: day, holder. units: epoch ms
-- inputs: session, process_minute, device_span, name, sample
-- parameters: day_from INT, day_to INT, lo_ms BIGINT, hi_ms BIGINT
-- output: session_day
WITH told AS (
    SELECT p.hint_id AS holder, max(p."user") AS "user", max(p.command) AS command, max(p.hint) AS hint
    FROM process_minute p
    WHERE p.day >= CAST($day_from AS INT) AND p.day < CAST($day_to AS INT)
        AND p.hint_id IN (SELECT holder FROM session WHERE holder > 0)
    GROUP BY p.hint_id
    UNION ALL
    SELECT n.id, n.d, max(s.command), n.b || ':' || n.c
    FROM name n
    JOIN sample s ON s.cluster = n.a AND s.node = n.b AND s.job = n.c AND s."user" = n.d
    WHERE n.kind = 'session'
    GROUP BY n.id, n.d, n.b, n.c
),
host AS (
    SELECT device_id, max(cluster) AS cluster, max(node) AS node FROM device_span GROUP BY device_id
),
inside AS (
    SELECT device_id, holder,
        CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS from_ms,
        CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS to_ms
    FROM session
    WHERE from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
),
by_day AS (
    SELECT *, unnest(range(from_ms / 86400000, (to_ms - 1) / 86400000 + 1)) AS day FROM inside
)
SELECT CAST(s.day AS INT) AS day, s.holder,
    CASE WHEN s.holder < 0 THEN 'foreign' ELSE 'session' END AS kind,
    max(h.cluster) AS cluster, max(h.node) AS node, max(t."user") AS "user", max(t.command) AS command,
    max(t.hint) AS hint,
    min(CASE WHEN s.from_ms > s.day * 86400000 THEN s.from_ms ELSE s.day * 86400000 END) AS from_ms,
    max(CASE WHEN s.to_ms < (s.day + 1) * 86400000 THEN s.to_ms ELSE (s.day + 1) * 86400000 END) AS to_ms
FROM by_day s
JOIN host h ON h.device_id = s.device_id
LEFT JOIN told t ON t.holder = s.holder
GROUP BY CAST(s.day AS INT), s.holder
ORDER BY day, holder
