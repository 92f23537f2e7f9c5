-- What holds a card without being anybody's run: processes of runs that are gone, processes outside every allocation, memory without
-- a process. Each is for people alone. command and memory are what was seen of it.
-- grain: class x holder or device x process. units: epoch ms, bytes
-- inputs: idle_job_gone, idle_outside, idle_memory_held, scheduler_run, device_span
-- parameters: none
-- output: stray
WITH newest AS (
    SELECT device_id, cluster, node, row_number() OVER (PARTITION BY device_id ORDER BY from_ms DESC) AS place FROM device_span
),
gone AS (
    SELECT holder, device_id, min(boot_id) AS boot_id, min(pid) AS pid, max("user") AS "user", min(first_ms) AS first_ms,
        max(newest_ms) AS newest_ms, max(command) AS command, CAST(sum(mem_peak_bytes) AS BIGINT) AS mem_bytes
    FROM idle_job_gone
    GROUP BY holder, device_id
)
SELECT 'job_gone' AS class, g.holder, r.job_raw, r.start_ms, n.cluster, n.node, g.device_id, g.boot_id, g.pid,
    CAST(NULL AS BIGINT) AS start_ticks, coalesce(r."user", g."user") AS "user", r.account, g.first_ms, g.newest_ms, g.command,
    g.mem_bytes
FROM gone g
JOIN scheduler_run r ON r.holder = g.holder
JOIN newest n ON n.device_id = g.device_id AND n.place = 1
UNION ALL
SELECT 'outside_allocation', NULL, NULL, NULL, n.cluster, n.node, o.device_id, o.boot_id, o.pid, o.start_ticks, o."user", NULL,
    o.first_ms, o.newest_ms, o.command, o.mem_peak_bytes
FROM idle_outside o
JOIN newest n ON n.device_id = o.device_id AND n.place = 1
UNION ALL
SELECT 'memory_held', NULL, NULL, NULL, n.cluster, n.node, m.device_id, NULL, NULL, NULL, NULL, NULL, m.first_ms, m.newest_ms,
    NULL, m.mem_used_bytes
FROM idle_memory_held m
JOIN newest n ON n.device_id = m.device_id AND n.place = 1
ORDER BY class, holder, device_id, pid, start_ticks
