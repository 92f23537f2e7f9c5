-- Processes of runs that their scheduler no longer has: in the newest tick of the card, and in ten ticks of the last fifteen minutes
-- that began two minutes after the end, or later. Only a successful reading that is fresh says that a run is gone, and only if the
-- one before it said so, too (C58); an id that was put back into the queue and runs again is not gone.
-- grain: run x device x process. key: holder, device_id, boot_id, pid, start_ticks. units: epoch ms
-- inputs: scheduler_run, standing, idle_read, process_minute, tick, idle_newest
-- parameters: at_ms BIGINT, day_from INT, reading_ms BIGINT
-- output: idle_job_gone
WITH gone AS (
    SELECT r.holder, r.hint_id, r.end_ms
    FROM scheduler_run r
    JOIN idle_read i ON i.cluster = r.cluster
    WHERE (NOT r.open OR r.last_seen_ms IS NOT NULL) AND r.end_ms < i.before_ms AND i.failed_ms IS NULL
        AND abs(CAST($at_ms AS BIGINT) - i.read_ms) <= CAST($reading_ms AS BIGINT)
        AND NOT EXISTS (SELECT 1 FROM standing n WHERE n.hint_id = r.hint_id)
),
latest AS (
    SELECT holder, hint_id, end_ms, row_number() OVER (PARTITION BY hint_id ORDER BY end_ms DESC, holder) AS place FROM gone
),
row_of AS (
    SELECT g.holder, p.device_id, p.boot_id, p.pid, p.start_ticks, p."user", p.command, p.mem_peak_bytes, t.from_ms, t.to_ms
    FROM latest g
    JOIN process_minute p ON p.hint_id = g.hint_id
    JOIN tick t ON t.device_id = p.device_id AND t.boot_id = p.boot_id AND t.seq = p.seq
    WHERE g.place = 1 AND p.day >= CAST($day_from AS INT) AND t.to_ms > CAST($at_ms AS BIGINT) - 900000
        AND t.to_ms <= CAST($at_ms AS BIGINT) AND t.from_ms >= g.end_ms + 120000
)
SELECT r.holder, r.device_id, r.boot_id, r.pid, r.start_ticks, max(r."user") AS "user", max(r.command) AS command,
    min(r.from_ms) AS first_ms, max(r.to_ms) AS newest_ms, max(r.mem_peak_bytes) AS mem_peak_bytes
FROM row_of r
JOIN idle_newest n ON n.device_id = r.device_id
GROUP BY r.holder, r.device_id, r.boot_id, r.pid, r.start_ticks, n.newest_ms
HAVING count(*) >= 10 AND max(r.to_ms) >= n.newest_ms
