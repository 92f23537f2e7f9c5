-- How much of each slot was measured. For a holder a tick counts only if each of its process rows has a busy time; where
-- it has no row in a complete tick that is measured zero only if the device's utilization was measured, or that of every
-- instance it holds at the time. For nobody's part any healthy tick counts.
-- zero_ms: measured time of ticks in which the holder ran nothing; work: ms x ppm of its composite.
-- grain: device x cell x holder x interval. key: device_id, cell, holder, from_ms. units: ms
-- inputs: slot, tick_piece, holder_tick, held, instance_tick
-- parameters: none
-- output: measured
WITH instance_of AS (
    SELECT DISTINCT s.device_id, s.cell, s.holder, s.from_ms, h.instance_id
    FROM slot s
    JOIN held h ON h.holder = s.holder AND h.device_id = s.device_id AND h.instance_id IS NOT NULL
        AND h.from_ms <= s.from_ms AND h.to_ms >= s.to_ms
),
instances AS (
    SELECT device_id, cell, holder, from_ms, count(*) AS instances
    FROM instance_of
    GROUP BY device_id, cell, holder, from_ms
),
quiet AS (
    -- ticks in which all instances that the holder has there had their own utilization measured
    SELECT o.device_id, o.cell, o.holder, o.from_ms, t.boot_id, t.seq
    FROM instance_of o
    JOIN instances n ON n.device_id = o.device_id AND n.cell = o.cell AND n.holder = o.holder AND n.from_ms = o.from_ms
    JOIN tick_piece t ON t.device_id = o.device_id AND t.cell = o.cell
    JOIN instance_tick i ON i.instance_id = o.instance_id AND i.boot_id = t.boot_id AND i.seq = t.seq
    GROUP BY o.device_id, o.cell, o.holder, o.from_ms, t.boot_id, t.seq, n.instances
    HAVING count(DISTINCT o.instance_id) = n.instances
),
seen AS (
    SELECT s.device_id, s.cell, s.holder, s.from_ms,
        CASE WHEN t.from_ms > s.from_ms THEN t.from_ms ELSE s.from_ms END AS a_ms,
        CASE WHEN t.to_ms < s.to_ms THEN t.to_ms ELSE s.to_ms END AS b_ms,
        CASE
            WHEN s.holder = 0 THEN true
            WHEN h.holder IS NOT NULL THEN h.measured
            ELSE t.util_measured OR q.holder IS NOT NULL
        END AS counts,
        coalesce(h.busy_ms, 0) = 0 AS nothing_ran,
        h.composite_ppm, h.basis_rank, h.mem_peak_bytes, h.holder IS NULL AS silent
    FROM slot s
    JOIN tick_piece t ON t.device_id = s.device_id AND t.cell = s.cell AND t.from_ms < s.to_ms AND t.to_ms > s.from_ms
    LEFT JOIN holder_tick h ON h.device_id = s.device_id AND h.holder = s.holder AND h.tick_from_ms = t.tick_from_ms
    LEFT JOIN quiet q ON q.device_id = s.device_id AND q.cell = s.cell AND q.holder = s.holder AND q.from_ms = s.from_ms
        AND q.boot_id = t.boot_id AND q.seq = t.seq
    WHERE t.healthy
),
total AS (
    SELECT device_id, cell, holder, from_ms,
        CAST(sum(CASE WHEN counts THEN b_ms - a_ms ELSE 0 END) AS BIGINT) AS ok_ms,
        CAST(sum(CASE WHEN counts AND nothing_ran THEN b_ms - a_ms ELSE 0 END) AS BIGINT) AS zero_ms,
        CAST(sum(CASE WHEN counts THEN (b_ms - a_ms) * composite_ppm END) AS BIGINT) AS work,
        bool_or(counts AND silent) AS any_silent,
        min(CASE WHEN counts THEN basis_rank END) AS basis_rank,
        max(mem_peak_bytes) AS mem_peak_bytes
    FROM seen
    GROUP BY device_id, cell, holder, from_ms
)
SELECT s.device_id, s.cell, s.holder, s.from_ms, s.to_ms, s.units, s.over_units, s.failed, s.down, s.up,
    coalesce(t.ok_ms, 0) AS ok_ms, coalesce(t.zero_ms, 0) AS zero_ms,
    coalesce(t.work, CASE WHEN t.any_silent THEN 0 END) AS work, t.basis_rank, t.mem_peak_bytes
FROM slot s
LEFT JOIN total t ON t.device_id = s.device_id AND t.cell = s.cell AND t.holder = s.holder AND t.from_ms = s.from_ms
