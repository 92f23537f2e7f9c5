-- Who holds GPUs at an instant: runs of schedulers that the newest look still shows (of the past: those that ran then), and
-- sessions of bare hosts that were there in the newest tick of a card.
-- grain: holder. key: holder. units: epoch ms, share units
-- inputs: scheduler_run, session, idle_newest, process_minute, device_span, name, sample
-- parameters: at_ms BIGINT, live BOOLEAN, day_from INT
-- output: standing
WITH there AS (
    SELECT s.holder, min(s.from_ms) AS start_ms, max(s.to_ms) AS end_ms, count(DISTINCT s.device_id) AS cards,
        max(d.cluster) AS cluster, max(d.node) AS node, max(d.model) AS model, max(d.queue) AS queue
    FROM session s
    JOIN idle_newest n ON n.device_id = s.device_id AND s.from_ms < n.newest_ms AND s.to_ms >= n.newest_ms
    JOIN device_span d ON d.device_id = s.device_id AND d.from_ms < n.newest_ms AND d.to_ms >= n.newest_ms
    WHERE s.holder > 0
    GROUP BY s.holder
),
told AS (
    SELECT p.hint_id AS holder, max(p."user") AS "user", max(p.command) AS command, max(p.hint) AS hint, max(p.boot_id) AS boot_id
    FROM process_minute p
    WHERE p.day >= CAST($day_from AS INT) AND p.hint_id IN (SELECT holder FROM there)
    GROUP BY p.hint_id
    UNION ALL
    SELECT n.id, n.d, max(s.command), 'session:' || n.c, CAST(NULL AS BIGINT)
    FROM name n
    JOIN sample s ON s.cluster = n.a AND s.node = n.b AND s.job = n.c AND s."user" = n.d
    WHERE n.kind = 'session' AND n.id IN (SELECT holder FROM there)
    GROUP BY n.id, n.d, n.c
)
SELECT r.holder, r.kind, r.cluster, r.job_raw, r."user", r.account, r.queue, r.qos, r.name, r.labels, r.workload_kind,
    r.workload_name, r.workload_uid, r.task_type, r.model, r.start_ms, r.end_ms, r.gpu_units, r.gpu_count, r.gpu_mem_bytes,
    r.time_limit_ms, r.nodes, r.array_job, r.array_task, r.het_leader, r.priority, r.preemptible, r.last_checkpoint_ms,
    r.hint_id, coalesce(strpos(r.source, 'kubernetes') = 1, false) AS is_pod, CAST(NULL AS BIGINT) AS boot_id
FROM scheduler_run r
WHERE r.gpu_units > 0 AND r.start_ms <= CAST($at_ms AS BIGINT)
    AND CASE WHEN CAST($live AS BOOLEAN) THEN r.open AND r.last_seen_ms IS NULL ELSE r.end_ms > CAST($at_ms AS BIGINT) END
UNION ALL
SELECT s.holder, 'session', s.cluster, t.hint, t."user", NULL, s.queue, NULL, t.command, NULL, NULL,
    NULL, NULL, 'unknown', s.model, s.start_ms, s.end_ms, s.cards * 72072000, s.cards, NULL,
    NULL, s.node, NULL, NULL, NULL, NULL, NULL, NULL,
    s.holder AS hint_id, false, t.boot_id
FROM there s
LEFT JOIN told t ON t.holder = s.holder
