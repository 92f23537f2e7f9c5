-- The bridged holes inside holdings of sessions: time held without a tick, by estimate.
-- grain: device x holder x hole. units: epoch ms
-- inputs: tick, session
-- parameters: none
-- output: bridge
WITH healthy AS (
    SELECT device_id, to_ms AS hole_from_ms,
        lead(from_ms) OVER (PARTITION BY device_id ORDER BY from_ms) AS hole_to_ms
    FROM tick
    WHERE healthy AND device_id IN (SELECT device_id FROM session WHERE holder > 0)
)
SELECT s.device_id, s.holder, h.hole_from_ms AS from_ms, h.hole_to_ms AS to_ms
FROM session s
JOIN healthy h ON h.device_id = s.device_id AND h.hole_from_ms > s.from_ms AND h.hole_to_ms < s.to_ms
WHERE s.holder > 0 AND h.hole_to_ms > h.hole_from_ms
