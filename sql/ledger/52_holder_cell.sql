-- What each holder was seen to do on a device in a cell: sums over its measured ticks, each beside the time for which its
-- part was known. Time here is of the card, whatever share of it was held. A tick counts as in 33_measured, so that
-- covered_ms is its ok_ms; where a holder has no process in a tick that counts, its own activities are 0 and known.
-- A tick is at rest if nothing ran in it, or no poll saw over 1 %, and neither DRAM nor tensor cores were over 1 %.
-- A tick looks hung if SM >= 95 %, DRAM and tensor <= 1 % and power is under 40 % of the limit, all of them known.
-- Counters of a tick that several cells share are spread over them by telescoping floor.
-- grain: device x cell x holder. key: device_id, cell, holder. units: ms, epoch ms, ppm x ms, mW x ms, bytes
-- inputs: measured, tick_piece, holder_tick
-- parameters: none
-- output: holder_cell
WITH seen AS (
    SELECT s.device_id, s.cell, s.holder, s.from_ms,
        CASE WHEN t.from_ms > s.from_ms THEN t.from_ms ELSE s.from_ms END AS a_ms,
        CASE WHEN t.to_ms < s.to_ms THEN t.to_ms ELSE s.to_ms END AS b_ms,
        t.placed_ms, t.dur_ms, t.gpu_util_ppm, t.power_mw, t.power_limit_mw,
        h.holder IS NOT NULL AS present, h.busy_ms, h.sm_ppm, h.dram_ppm, h.tensor_ppm, h.peak_ppm, h.mem_peak_bytes,
        h.cpu_ms, h.io_wait_ms, h.read_bytes, h.processes,
        h.holder IS NOT NULL AND (h.busy_ms > 0 AND coalesce(h.peak_ppm > 10000, true)
            OR coalesce(h.dram_ppm > 10000, false) OR coalesce(h.tensor_ppm > 10000, false)) AS active,
        coalesce(h.sm_ppm >= 950000 AND h.dram_ppm <= 10000 AND h.tensor_ppm <= 10000
            AND t.power_mw * 100 < t.power_limit_mw * 40, false) AS hung
    FROM measured s
    JOIN tick_piece t ON t.device_id = s.device_id AND t.cell = s.cell AND t.from_ms < s.to_ms AND t.to_ms > s.from_ms
    LEFT JOIN holder_tick h ON h.device_id = s.device_id AND h.holder = s.holder AND h.tick_from_ms = t.tick_from_ms
    WHERE s.holder <> 0 AND NOT s.failed AND s.ok_ms > 0 AND t.healthy AND coalesce(h.measured, true)
),
slot_sum AS (
    SELECT device_id, cell, holder, from_ms,
        min(b_ms) AS first_seen_ms, max(b_ms) AS last_seen_ms,
        min(CASE WHEN active THEN a_ms END) AS first_active_ms, max(CASE WHEN active THEN b_ms END) AS last_active_ms,
        CAST(sum(CASE WHEN active THEN b_ms - a_ms ELSE 0 END) AS BIGINT) AS active_ms,
        CAST(sum(CASE WHEN present THEN b_ms - a_ms ELSE 0 END) AS BIGINT) AS present_ms,
        CAST(sum(busy_ms * (b_ms - placed_ms) / dur_ms - busy_ms * (a_ms - placed_ms) / dur_ms) AS BIGINT) AS busy_ms,
        CAST(sum(sm_ppm * (b_ms - a_ms)) AS BIGINT) AS sm_work,
        CAST(sum(CASE WHEN sm_ppm IS NOT NULL THEN b_ms - a_ms END) AS BIGINT) AS sm_ms,
        CAST(sum(dram_ppm * (b_ms - a_ms)) AS BIGINT) AS dram_work,
        CAST(sum(CASE WHEN dram_ppm IS NOT NULL THEN b_ms - a_ms END) AS BIGINT) AS dram_ms,
        CAST(sum(tensor_ppm * (b_ms - a_ms)) AS BIGINT) AS tensor_work,
        CAST(sum(CASE WHEN tensor_ppm IS NOT NULL THEN b_ms - a_ms END) AS BIGINT) AS tensor_ms,
        CAST(sum(gpu_util_ppm * (b_ms - a_ms)) AS BIGINT) AS util_work,
        CAST(sum(CASE WHEN gpu_util_ppm IS NOT NULL THEN b_ms - a_ms END) AS BIGINT) AS util_ms,
        CAST(sum(power_mw * (b_ms - a_ms)) AS BIGINT) AS power_work,
        CAST(sum(CASE WHEN power_mw IS NOT NULL THEN b_ms - a_ms END) AS BIGINT) AS power_ms,
        max(power_limit_mw) AS power_limit_mw, max(peak_ppm) AS peak_ppm, max(mem_peak_bytes) AS mem_peak_bytes,
        CAST(sum(CASE WHEN hung THEN b_ms - a_ms ELSE 0 END) AS BIGINT) AS hung_ms,
        CAST(sum(cpu_ms * (b_ms - placed_ms) / dur_ms - cpu_ms * (a_ms - placed_ms) / dur_ms) AS BIGINT) AS cpu_ms,
        CAST(sum(io_wait_ms * (b_ms - placed_ms) / dur_ms - io_wait_ms * (a_ms - placed_ms) / dur_ms) AS BIGINT) AS io_wait_ms,
        CAST(sum(read_bytes * (b_ms - placed_ms) / dur_ms - read_bytes * (a_ms - placed_ms) / dur_ms) AS BIGINT) AS read_bytes,
        max(processes) AS processes
    FROM seen
    GROUP BY device_id, cell, holder, from_ms
),
slot AS (
    SELECT m.device_id, m.cell, m.holder, m.from_ms, m.to_ms, m.units, m.ok_ms, s.first_seen_ms, s.last_seen_ms,
        s.first_active_ms, s.last_active_ms, coalesce(s.active_ms, 0) AS active_ms, s.busy_ms,
        -- measured time without a process of the holder
        m.ok_ms - coalesce(s.present_ms, 0) AS silent_ms,
        s.sm_work, s.sm_ms, s.dram_work, s.dram_ms, s.tensor_work, s.tensor_ms, s.util_work, s.util_ms, s.power_work,
        s.power_ms, s.power_limit_mw, s.peak_ppm, s.mem_peak_bytes, s.hung_ms, s.cpu_ms, s.io_wait_ms, s.read_bytes,
        s.processes
    FROM measured m
    LEFT JOIN slot_sum s ON s.device_id = m.device_id AND s.cell = m.cell AND s.holder = m.holder AND s.from_ms = m.from_ms
    WHERE m.holder <> 0 AND NOT m.failed
)
SELECT CAST(cell / 96 AS INT) AS day, device_id, cell, holder, min(from_ms) AS from_ms, max(to_ms) AS to_ms,
    max(units) AS units, CAST(sum(to_ms - from_ms) AS BIGINT) AS held_ms, CAST(sum(ok_ms) AS BIGINT) AS covered_ms,
    CAST(sum(ok_ms - active_ms) AS BIGINT) AS rest_ms, CAST(sum(coalesce(busy_ms, 0)) AS BIGINT) AS busy_ms,
    min(first_seen_ms) AS first_seen_ms, max(last_seen_ms) AS last_seen_ms,
    min(first_active_ms) AS first_active_ms, max(last_active_ms) AS last_active_ms,
    CAST(sum(coalesce(sm_work, 0)) AS BIGINT) AS sm_work,
    CAST(sum(coalesce(sm_ms, 0) + silent_ms) AS BIGINT) AS sm_known_ms,
    CAST(sum(coalesce(dram_work, 0)) AS BIGINT) AS dram_work,
    CAST(sum(coalesce(dram_ms, 0) + silent_ms) AS BIGINT) AS dram_known_ms,
    CAST(sum(coalesce(tensor_work, 0)) AS BIGINT) AS tensor_work,
    CAST(sum(coalesce(tensor_ms, 0) + silent_ms) AS BIGINT) AS tensor_known_ms,
    CAST(sum(coalesce(util_work, 0)) AS BIGINT) AS util_work, CAST(sum(coalesce(util_ms, 0)) AS BIGINT) AS util_known_ms,
    max(peak_ppm) AS peak_ppm, max(mem_peak_bytes) AS mem_peak_bytes,
    CAST(sum(coalesce(power_work, 0)) AS BIGINT) AS power_work,
    CAST(sum(coalesce(power_ms, 0)) AS BIGINT) AS power_known_ms,
    max(power_limit_mw) AS power_limit_mw, CAST(sum(coalesce(hung_ms, 0)) AS BIGINT) AS hung_ms,
    CAST(sum(cpu_ms) AS BIGINT) AS cpu_ms, CAST(sum(io_wait_ms) AS BIGINT) AS io_wait_ms,
    CAST(sum(read_bytes) AS BIGINT) AS read_bytes, CAST(max(coalesce(processes, 0)) AS BIGINT) AS processes
FROM slot
GROUP BY device_id, cell, holder
