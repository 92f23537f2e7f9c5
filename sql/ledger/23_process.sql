-- Process rows of healthy ticks, resolved to whom they belong: a run of their hint that the tick touches (a tick that
-- starts in the gap before a run and reaches into it is that run's), the session itself on a node without
-- scheduler, else foreign (holder = minus the device id). Composite by the weights of the resolved task type: over the
-- parts that were measured; where SM activity is absent, busy time over tick time stands for it (basis gpu).
-- basis_rank: 1 gpu, 2 sm, 3 sm+dram, 4 sm+dram+tensor.
-- evidence_rank of its hint: 1 its cgroup, 2 a record of the node, 3 anything else.
-- Several GPUs of one sampled row: a use of 0 or of all is known per GPU, anything between is not.
-- grain: device x process x tick. units: ms, ppm, bytes
-- inputs: process_minute, tick, whose_hint, device_span, task_weight, sample, stamp_group, name
-- parameters: day_from INT, day_to INT
-- output: process
WITH bare AS (
    -- ticks of cards while their node had no scheduler
    SELECT DISTINCT t.device_id, t.from_ms
    FROM tick t
    JOIN device_span d ON d.device_id = t.device_id AND d.scheduler = 'none'
        AND d.from_ms < t.placed_ms + t.dur_ms AND d.to_ms > t.placed_ms
),
session_type AS (
    SELECT sm_ppm, dram_ppm, tensor_ppm, from_ms, to_ms FROM task_weight WHERE task_type = 'unknown'
),
raw AS (
    SELECT t.device_id, t.from_ms, t.placed_ms, t.dur_ms, t.boot_id, t.seq, coalesce(p.instance_id, 0) AS instance_id,
        coalesce(r.holder, CASE WHEN b.device_id IS NOT NULL THEN p.hint_id ELSE -t.device_id END) AS holder,
        coalesce(r.task_type, 'unknown') AS task_type,
        CASE p.evidence WHEN 'cgroup' THEN 1 WHEN 'kubelet' THEN 2 WHEN 'slurm' THEN 2 ELSE 3 END AS evidence_rank,
        p.busy_ms, p.sm_ppm, p.dram_ppm, p.tensor_ppm, p.mem_peak_bytes
    FROM tick t
    JOIN process_minute p ON p.device_id = t.device_id AND p.boot_id = t.boot_id AND p.seq = t.seq
    LEFT JOIN whose_hint r ON r.hint_id = p.hint_id
        AND r.start_ms < t.placed_ms + t.dur_ms AND r.end_ms > t.placed_ms AND r.prev_end_ms <= t.placed_ms
        AND r.end_ms > r.start_ms
    LEFT JOIN bare b ON b.device_id = t.device_id AND b.from_ms = t.from_ms
    WHERE t.healthy AND p.day >= CAST($day_from AS INT) AND p.day < CAST($day_to AS INT)
),
sampled AS (
    SELECT t.device_id, t.from_ms, t.placed_ms, t.dur_ms, t.boot_id, t.seq, 0 AS instance_id, s.id AS holder,
        'unknown' AS task_type, 3 AS evidence_rank,
        CASE
            WHEN bit_count_of.gpus = 1 THEN t.dur_ms * m.gpu_ppm / 1000000
            WHEN m.gpu_ppm = 0 THEN 0
            WHEN m.gpu_ppm = 1000000 * bit_count_of.gpus THEN t.dur_ms
        END AS busy_ms,
        CAST(NULL AS BIGINT) AS sm_ppm, CAST(NULL AS BIGINT) AS dram_ppm, CAST(NULL AS BIGINT) AS tensor_ppm,
        CASE WHEN bit_count_of.gpus = 1 THEN m.gpu_mem_bytes END AS mem_peak_bytes
    FROM sample m
    JOIN stamp_group g ON g.cluster = m.cluster AND g.node = m.node AND g.stamp_ms = m.stamp_ms
    JOIN name n ON n.kind = 'gpu' AND n.a = m.cluster AND n.b = m.node
    JOIN tick t ON t.device_id = n.id AND t.boot_id = 0 AND t.to_ms = g.group_ms
    JOIN name s ON s.kind = 'session' AND s.a = m.cluster AND s.b = m.node AND s.c = m.job AND s.d = m."user"
    JOIN (
        SELECT DISTINCT sample_id, length(replace(CAST(to_bits.bits AS VARCHAR), '0', '')) AS gpus
        FROM (
            -- the mask as a word of 0 and 1, one digit a GPU
            SELECT sample_id, array_to_string(array_agg(CAST((gpu_mask >> bit) & 1 AS VARCHAR) ORDER BY bit), '') AS bits
            FROM (SELECT sample_id, gpu_mask, unnest(range(0, 63)) AS bit FROM sample WHERE gpu_mask <> 0)
            GROUP BY sample_id
        ) to_bits
    ) bit_count_of ON bit_count_of.sample_id = m.sample_id
    WHERE (m.gpu_mask >> CAST(n.c AS BIGINT)) & 1 = 1
),
used AS (
    SELECT * FROM raw UNION ALL SELECT * FROM sampled
),
weighed AS (
    SELECT u.*,
        w.sm_ppm AS w_sm, w.dram_ppm AS w_dram, w.tensor_ppm AS w_tensor,
        coalesce(u.sm_ppm, u.busy_ms * 1000000 / u.dur_ms) AS sm
    FROM used u
    JOIN task_weight w ON w.task_type = u.task_type
        AND u.placed_ms >= w.from_ms AND (w.to_ms IS NULL OR u.placed_ms < w.to_ms)
)
SELECT device_id, from_ms, placed_ms, dur_ms, boot_id, seq, holder, instance_id, evidence_rank, busy_ms, mem_peak_bytes,
    (w_sm * coalesce(sm, 0) + w_dram * coalesce(dram_ppm, 0) + w_tensor * coalesce(tensor_ppm, 0))
    / nullif(
        CASE WHEN sm IS NULL THEN 0 ELSE w_sm END
        + CASE WHEN dram_ppm IS NULL THEN 0 ELSE w_dram END
        + CASE WHEN tensor_ppm IS NULL THEN 0 ELSE w_tensor END, 0) AS composite_ppm,
    CASE WHEN sm_ppm IS NULL THEN 1 WHEN dram_ppm IS NULL THEN 2 WHEN tensor_ppm IS NULL THEN 3 ELSE 4 END AS basis_rank
FROM weighed
