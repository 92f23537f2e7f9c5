-- When a device had failed: from a tick in state lost, or with an Xid that means the GPU is gone (79 fallen off the
-- bus, 48 and 95 uncontained ECC, 119 and 120 GSP timeout, 64 row-remap failure), to the first healthy tick after (state
-- ok, all its process rows in, no such Xid), carried over gaps. Other Xids and throttling are events, not failures. Ticks
-- stand where `tick` puts them: a clock that was wrong moves no failure.
-- grain: device x interval. units: epoch ms
-- inputs: device_minute, process_minute, sick, boot_offset, device_span, as_of
-- parameters: day_from INT, day_to INT
-- output: failure
WITH rows_in AS (
    SELECT p.device_id, p.boot_id, p.seq, count(*) AS process_rows
    FROM process_minute p
    JOIN sick s ON s.device_id = p.device_id
    WHERE p.day >= CAST($day_from AS INT) AND p.day < CAST($day_to AS INT)
    GROUP BY p.device_id, p.boot_id, p.seq
),
tick AS (
    SELECT m.device_id,
        CASE WHEN abs(m.tick_ms - m.mono_ms - o.offset_ms) > 1000 THEN m.mono_ms + o.offset_ms ELSE m.tick_ms END
            AS tick_ms,
        coalesce(m.state = 'lost' OR m.xid IN (48, 64, 79, 95, 119, 120), false) AS failing,
        m.state = 'ok' AND coalesce(m.xid NOT IN (48, 64, 79, 95, 119, 120), true)
            AND coalesce(r.process_rows, 0) = m.process_count AS healthy
    FROM device_minute m
    JOIN sick s ON s.device_id = m.device_id
    JOIN boot_offset o ON o.boot_id = m.boot_id AND o.day = m.day
    LEFT JOIN rows_in r ON r.device_id = m.device_id AND r.boot_id = m.boot_id AND r.seq = m.seq
    WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT)
),
until AS (
    SELECT device_id, tick_ms, failing,
        min(CASE WHEN healthy THEN tick_ms END) OVER (
            PARTITION BY device_id ORDER BY tick_ms RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS healthy_ms
    FROM tick
),
last_known AS (
    SELECT d.device_id, max(a.as_of_ms) AS as_of_ms
    FROM device_span d
    JOIN as_of a ON a.cluster = d.cluster
    GROUP BY d.device_id
)
SELECT u.device_id, min(u.tick_ms) AS from_ms, coalesce(u.healthy_ms, max(k.as_of_ms)) AS to_ms
FROM until u
JOIN last_known k ON k.device_id = u.device_id
WHERE u.failing
GROUP BY u.device_id, u.healthy_ms
