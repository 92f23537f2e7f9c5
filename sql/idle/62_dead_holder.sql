-- Runs whose card is held by a process that is defunct or cannot be interrupted: state Z, X or D in every tick of the last fifteen
-- minutes in which it was seen, ten at least. No signal helps there.
-- grain: run x device x process. key: holder, device_id, boot_id, pid, start_ticks. units: epoch ms
-- inputs: process_minute, tick, process
-- parameters: at_ms BIGINT, day_from INT
-- output: idle_dead_holder
WITH owner_of AS (
    SELECT device_id, from_ms, boot_id, seq, min(holder) AS holder
    FROM process
    WHERE holder > 0
    GROUP BY device_id, from_ms, boot_id, seq
    HAVING count(DISTINCT holder) = 1
),
row_of AS (
    SELECT o.holder, m.device_id, m.boot_id, m.pid, m.start_ticks, m.state, m."user", t.to_ms
    FROM owner_of o
    JOIN tick t ON t.device_id = o.device_id AND t.from_ms = o.from_ms
    JOIN process_minute m ON m.device_id = o.device_id AND m.boot_id = o.boot_id AND m.seq = o.seq
    WHERE m.day >= CAST($day_from AS INT) AND t.to_ms > CAST($at_ms AS BIGINT) - 900000
        AND t.to_ms <= CAST($at_ms AS BIGINT)
)
SELECT holder, device_id, boot_id, pid, start_ticks, max("user") AS "user", max(state) AS state, max(to_ms) AS newest_ms
FROM row_of
GROUP BY holder, device_id, boot_id, pid, start_ticks
HAVING count(*) >= 10 AND count(*) = count(CASE WHEN state IN ('Z', 'X', 'D') THEN 1 END)
