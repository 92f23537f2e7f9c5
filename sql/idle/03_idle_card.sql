-- The cards that each of them holds at that instant, as far as they are known by name. A run is looked at where what is known of it
-- ends, a session in the newest tick of the card.
-- grain: run x device. key: holder, device_id
-- inputs: standing, holder, idle_newest, device_span
-- parameters: at_ms BIGINT
-- output: idle_card
WITH at AS (
    SELECT holder, kind, CASE WHEN end_ms < CAST($at_ms AS BIGINT) THEN end_ms ELSE CAST($at_ms AS BIGINT) END AS at_ms FROM standing
),
held AS (
    SELECT h.holder, h.device_id, max(h.from_ms) AS from_ms
    FROM holder h
    JOIN at a ON a.holder = h.holder AND a.kind <> 'session' AND h.from_ms <= a.at_ms AND h.to_ms >= a.at_ms
    GROUP BY h.holder, h.device_id
    UNION ALL
    SELECT h.holder, h.device_id, max(h.from_ms)
    FROM holder h
    JOIN at a ON a.holder = h.holder AND a.kind = 'session'
    JOIN idle_newest n ON n.device_id = h.device_id AND h.from_ms < n.newest_ms AND h.to_ms >= n.newest_ms
    GROUP BY h.holder, h.device_id
)
SELECT h.holder, h.device_id, max(d.node) AS node, max(d.model) AS model
FROM held h
JOIN device_span d ON d.device_id = h.device_id AND d.to_ms >= h.from_ms
GROUP BY h.holder, h.device_id
