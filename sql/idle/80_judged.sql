-- Everything that a plan reads of whoever holds GPUs, a row each: who it is, whose, what, and what was judged.
-- max_ms: the longest that its task type may run (the team's spec, else that for any team). is_leader: other components of a het job
-- name it. siblings_busy: pods of the same workload that work, itself not counted; absent where one of them is not judged.
-- leader_ticks: start of a session's leader, where a row of it says so.
-- grain: holder. key: holder. units: epoch ms, ms, ppm, mW, share units
-- inputs: standing, idle_subject, run_place, verdict, idle_low_use, idle_dead_holder, idle_alert, idle_borrowed, idle_reached, spec, process_minute
-- parameters: day_from INT
-- output: judged
WITH longest AS (
    SELECT r.holder, s.max_hours * 3600000 AS max_ms,
        row_number() OVER (PARTITION BY r.holder ORDER BY s.team IS NULL, s.from_ms) AS place
    FROM standing r
    JOIN run_place p ON p.holder = r.holder
    JOIN spec s ON s.task_type = r.task_type AND (s.team IS NULL OR s.team = p.team)
        AND s.from_ms <= r.start_ms AND (s.to_ms IS NULL OR s.to_ms > r.start_ms)
    WHERE s.max_hours IS NOT NULL
),
dead AS (
    SELECT DISTINCT holder FROM idle_dead_holder
),
leader AS (
    SELECT DISTINCT cluster, het_leader FROM standing WHERE het_leader IS NOT NULL
),
starts AS (
    SELECT p.hint_id AS holder, min(p.start_ticks) AS leader_ticks
    FROM process_minute p
    WHERE p.day >= CAST($day_from AS INT) AND p.hint_id IN (SELECT holder FROM standing WHERE kind = 'session')
        AND p.hint = 'session:' || CAST(p.pid AS VARCHAR)
    GROUP BY p.hint_id
),
sibling AS (
    SELECT r.cluster, r.workload_uid, count(*) AS pods, count(CASE WHEN v.verdict = 'busy' THEN 1 END) AS busy,
        count(CASE WHEN coalesce(v.verdict, 'unknown') = 'unknown' THEN 1 END) AS unknown
    FROM standing r
    LEFT JOIN verdict v ON v.holder = r.holder
    WHERE r.workload_uid IS NOT NULL
    GROUP BY r.cluster, r.workload_uid
)
SELECT r.holder, r.kind, r.is_pod, r.cluster, r.job_raw, r."user", r.account, r.queue, r.qos, r.name, r.workload_kind,
    r.workload_name, r.workload_uid, r.task_type, r.model, r.start_ms, r.gpu_units, r.gpu_count, r.time_limit_ms, r.nodes,
    r.array_job, r.array_task, r.het_leader, l.het_leader IS NOT NULL AS is_leader, r.priority, r.preemptible,
    r.last_checkpoint_ms, r.boot_id, t.leader_ticks, p.team, p.pool, m.max_ms, b.holder IS NOT NULL AS borrowed, a.address,
    CASE WHEN s.unknown - CASE WHEN coalesce(v.verdict, 'unknown') = 'unknown' THEN 1 ELSE 0 END > 0 THEN NULL
        ELSE s.busy - CASE WHEN v.verdict = 'busy' THEN 1 ELSE 0 END END AS siblings_busy,
    j.policy, coalesce(v.verdict, 'unknown') AS verdict, v.reason, v.also, v.class, v.rest_from_ms, v.active_from_ms,
    v.active_to_ms, v.newest_ms, v.coverage_ppm, v.peak_ppm, v.power_mw, v.floor_mw, v.window_ms, v.apart_ms, u.mean_ppm,
    u.holder IS NOT NULL AND v.verdict <> 'unknown' AS is_low, d.holder IS NOT NULL AS is_dead,
    coalesce(x.hung, false) AS hung, coalesce(x.node_lost, false) AS node_lost,
    coalesce(x.token_load AND u.holder IS NOT NULL, false) AS token_load,
    coalesce(x.memory_over_quota, false) AS memory_over_quota, coalesce(x.disagreement, false) AS disagreement,
    coalesce(x.partly_idle, false) AS partly_idle
FROM standing r
LEFT JOIN idle_subject j ON j.holder = r.holder
LEFT JOIN run_place p ON p.holder = r.holder
LEFT JOIN verdict v ON v.holder = r.holder
LEFT JOIN idle_low_use u ON u.holder = r.holder
LEFT JOIN dead d ON d.holder = r.holder
LEFT JOIN idle_alert x ON x.holder = r.holder
LEFT JOIN idle_borrowed b ON b.holder = r.holder
LEFT JOIN idle_reached a ON a.holder = r.holder
LEFT JOIN longest m ON m.holder = r.holder AND m.place = 1
LEFT JOIN leader l ON l.cluster = r.cluster AND l.het_leader = r.job_raw
LEFT JOIN starts t ON t.holder = r.holder
LEFT JOIN sibling s ON s.cluster = r.cluster AND s.workload_uid = r.workload_uid
ORDER BY r.holder
