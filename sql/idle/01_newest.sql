-- The newest tick of each card at an instant, healthy or not, and the newest healthy one.
-- grain: device. key: device_id. units: epoch ms
-- inputs: tick
-- parameters: at_ms BIGINT
-- output: idle_newest
WITH ranked AS (
    SELECT device_id, to_ms, state, row_number() OVER (PARTITION BY device_id ORDER BY to_ms DESC, from_ms DESC) AS place
    FROM tick
    WHERE to_ms <= CAST($at_ms AS BIGINT)
),
healthy AS (
    SELECT device_id, max(to_ms) AS newest_ms FROM tick WHERE healthy AND to_ms <= CAST($at_ms AS BIGINT) GROUP BY device_id
)
SELECT r.device_id, r.to_ms AS last_ms, r.state AS last_state, h.newest_ms
FROM ranked r
LEFT JOIN healthy h ON h.device_id = r.device_id
WHERE r.place = 1
