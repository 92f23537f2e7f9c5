-- Processes outside every allocation on a card, over the last fifteen minutes: one row a process, who it is on its node and what it
-- holds. One of a run that is gone is listed with that run (`63_job_gone`), and not here.
-- grain: device x process. key: device_id, boot_id, pid, start_ticks. units: epoch ms, bytes
-- inputs: process_minute, tick, process, device_span, idle_job_gone
-- parameters: at_ms BIGINT, day_from INT
-- output: idle_outside
WITH foreign_tick AS (
    SELECT DISTINCT device_id, from_ms FROM process WHERE holder < 0
),
row_of AS (
    SELECT t.device_id, t.from_ms, t.to_ms, t.boot_id, m.pid, m.start_ticks, m."user", m.command, m.state, m.hint_id,
        m.mem_peak_bytes
    FROM foreign_tick f
    JOIN tick t ON t.device_id = f.device_id AND t.from_ms = f.from_ms
    JOIN process_minute m ON m.device_id = t.device_id AND m.boot_id = t.boot_id AND m.seq = t.seq
    WHERE m.day >= CAST($day_from AS INT) AND t.to_ms > CAST($at_ms AS BIGINT) - 900000
        AND t.to_ms <= CAST($at_ms AS BIGINT)
        AND NOT EXISTS (
            SELECT 1 FROM process h
            WHERE h.device_id = t.device_id AND h.from_ms = t.from_ms AND h.holder > 0
        )
)
SELECT r.device_id, d.node, r.boot_id, r.pid, r.start_ticks, max(r."user") AS "user", max(r.command) AS command,
    max(r.state) AS state, min(r.from_ms) AS first_ms, max(r.to_ms) AS newest_ms, max(r.mem_peak_bytes) AS mem_peak_bytes
FROM row_of r
JOIN device_span d ON d.device_id = r.device_id AND d.from_ms <= r.from_ms AND d.to_ms > r.from_ms
LEFT JOIN idle_job_gone g ON g.device_id = r.device_id AND g.boot_id = r.boot_id AND g.pid = r.pid AND g.start_ticks = r.start_ticks
WHERE g.holder IS NULL
GROUP BY r.device_id, d.node, r.boot_id, r.pid, r.start_ticks
