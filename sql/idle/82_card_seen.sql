-- Every card as it was last seen healthy: its memory in that tick, and who was on it or holds it (a row each; one without anybody).
-- grain: device x holder. units: epoch ms, bytes
-- inputs: device_span, idle_newest, tick, device_minute, process, idle_card
-- parameters: at_ms BIGINT, day_from INT
-- output: card_seen
WITH card AS (
    SELECT device_id, node, row_number() OVER (PARTITION BY device_id ORDER BY from_ms DESC) AS place
    FROM device_span
    WHERE from_ms <= CAST($at_ms AS BIGINT)
),
memory AS (
    SELECT n.device_id, max(m.mem_used_bytes) AS mem_used_bytes, max(m.mem_total_bytes) AS mem_total_bytes
    FROM idle_newest n
    JOIN tick t ON t.device_id = n.device_id AND t.to_ms = n.newest_ms AND t.healthy
    JOIN device_minute m ON m.device_id = t.device_id AND m.boot_id = t.boot_id AND m.seq = t.seq
        AND m.day >= CAST($day_from AS INT)
    GROUP BY n.device_id
),
on_it AS (
    SELECT n.device_id, p.holder, true AS is_user, false AS is_holder
    FROM idle_newest n
    JOIN tick t ON t.device_id = n.device_id AND t.to_ms = n.newest_ms AND t.healthy
    JOIN process p ON p.device_id = t.device_id AND p.from_ms = t.from_ms
    UNION ALL
    SELECT device_id, holder, false, true FROM idle_card
),
who AS (
    SELECT device_id, holder, bool_or(is_user) AS is_user, bool_or(is_holder) AS is_holder FROM on_it GROUP BY device_id, holder
)
SELECT c.device_id, c.node, n.newest_ms, m.mem_used_bytes, m.mem_total_bytes, w.holder, coalesce(w.is_user, false) AS is_user,
    coalesce(w.is_holder, false) AS is_holder
FROM card c
LEFT JOIN idle_newest n ON n.device_id = c.device_id
LEFT JOIN memory m ON m.device_id = c.device_id
LEFT JOIN who w ON w.device_id = c.device_id
WHERE c.place = 1
ORDER BY c.device_id, w.holder
