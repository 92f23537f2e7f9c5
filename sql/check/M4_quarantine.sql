-- M4: input that was set aside is a line too, and so is a run without a recorded end, a job that never started, and a
-- wall clock that was put forward or back by more than a second between two ticks of a boot (the ledger places its ticks).
-- grain: line
-- inputs: quarantine, run, job, device_minute, device
-- parameters: none
-- output: listed
SELECT 'quarantined' AS what, source AS place, count(*) AS n FROM quarantine GROUP BY source
UNION ALL
SELECT 'end not recorded', cluster, count(*) FROM run WHERE open AND kind = 'scheduler' GROUP BY cluster
UNION ALL
SELECT 'never started', j.cluster, CAST(sum(j.tasks) AS BIGINT)
FROM (
    -- the newest reading of a record: a pending array shrinks as its tasks start
    SELECT cluster, job_raw, submit_ms, tasks,
        row_number() OVER (PARTITION BY job_id ORDER BY as_of_ms DESC, state, tasks, name, source) AS place
    FROM job
) j
LEFT JOIN run r ON r.cluster = j.cluster AND r.job_raw = j.job_raw AND r.submit_ms = j.submit_ms
WHERE r.holder IS NULL AND j.place = 1
GROUP BY j.cluster
UNION ALL
SELECT 'clock stepped', s.place, count(*)
FROM (
    SELECT DISTINCT d.cluster || '/' || d.node AS place, t.boot_id, t.seq
    FROM (
        SELECT m.device_id, m.boot_id, m.seq, m.tick_ms - m.mono_ms AS offset_ms,
            lag(m.tick_ms - m.mono_ms) OVER (PARTITION BY m.device_id, m.boot_id ORDER BY m.seq) AS before_ms
        FROM (
            -- most clocks are never put: only where the least and the greatest offset of a boot are apart is there a step
            SELECT device_id, boot_id
            FROM device_minute
            GROUP BY device_id, boot_id
            HAVING max(tick_ms - mono_ms) - min(tick_ms - mono_ms) > 1000
        ) b
        JOIN device_minute m ON m.device_id = b.device_id AND m.boot_id = b.boot_id
    ) t
    JOIN device d ON d.device_id = t.device_id
    WHERE abs(t.offset_ms - t.before_ms) > 1000
) s
GROUP BY s.place
ORDER BY what, place
