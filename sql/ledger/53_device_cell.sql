-- Minutes of physical GPUs added up per cell: of each measure the sum of value x ms, the ms for which it is known, the
-- least and the greatest. What no tick measured is absent. Samples of hosts measure
-- processes and no card, so that a card seen in samples only has no row.
-- A product of one cell fits 64 bits (bytes x ms below 2^62 for a card under 4 TiB); over more cells add them as decimals.
-- grain: device x cell. key: device_id, cell. units: ms, ppm, bytes, mW, degrees Celsius, and their products with ms
-- inputs: card_piece, at_rest
-- parameters: none
-- output: device_cell
WITH piece AS (
    SELECT *, to_ms - from_ms AS ms FROM card_piece
),
added AS (
    SELECT device_id, cell, count(*) AS ticks, sum(ms) AS ok_ms,
        sum(sm_ppm * ms) AS sm_ppm_ms, sum(CASE WHEN sm_ppm IS NULL THEN 0 ELSE ms END) AS sm_known_ms,
        min(sm_ppm) AS sm_min_ppm, max(sm_ppm) AS sm_max_ppm,
        sum(dram_ppm * ms) AS dram_ppm_ms, sum(CASE WHEN dram_ppm IS NULL THEN 0 ELSE ms END) AS dram_known_ms,
        sum(tensor_ppm * ms) AS tensor_ppm_ms, sum(CASE WHEN tensor_ppm IS NULL THEN 0 ELSE ms END) AS tensor_known_ms,
        sum(gpu_util_ppm * ms) AS gpu_util_ppm_ms,
        sum(CASE WHEN gpu_util_ppm IS NULL THEN 0 ELSE ms END) AS gpu_util_known_ms,
        min(gpu_util_ppm) AS gpu_util_min_ppm, max(gpu_util_ppm) AS gpu_util_max_ppm,
        sum(mem_used_bytes * ms) AS mem_used_byte_ms, sum(CASE WHEN mem_used_bytes IS NULL THEN 0 ELSE ms END) AS mem_known_ms,
        min(mem_used_bytes) AS mem_used_min_bytes, max(mem_used_bytes) AS mem_used_max_bytes,
        max(mem_total_bytes) AS mem_total_bytes,
        sum(power_mw * ms) AS power_mw_ms, sum(CASE WHEN power_mw IS NULL THEN 0 ELSE ms END) AS power_known_ms,
        min(power_mw) AS power_min_mw, max(power_mw) AS power_max_mw, max(power_limit_mw) AS power_limit_mw,
        sum(temperature_c * ms) AS temperature_c_ms,
        sum(CASE WHEN temperature_c IS NULL THEN 0 ELSE ms END) AS temperature_known_ms,
        min(temperature_c) AS temperature_min_c, max(temperature_c) AS temperature_max_c,
        sum(process_count * ms) AS process_ms, min(process_count) AS process_min, max(process_count) AS process_max,
        sum(CASE WHEN sm_ppm IS NULL AND gpu_util_ppm IS NULL THEN 0 ELSE ms END) AS judged_ms
    FROM piece
    GROUP BY device_id, cell
)
SELECT CAST(a.cell / 96 AS INT) AS day, a.device_id, a.cell, a.ticks, a.ok_ms, a.sm_ppm_ms, a.sm_known_ms, a.sm_min_ppm,
    a.sm_max_ppm, a.dram_ppm_ms, a.dram_known_ms, a.tensor_ppm_ms, a.tensor_known_ms, a.gpu_util_ppm_ms,
    a.gpu_util_known_ms, a.gpu_util_min_ppm, a.gpu_util_max_ppm, a.mem_used_byte_ms, a.mem_known_ms,
    a.mem_used_min_bytes, a.mem_used_max_bytes, a.mem_total_bytes, a.power_mw_ms, a.power_known_ms, a.power_min_mw,
    a.power_max_mw, a.power_limit_mw, a.temperature_c_ms, a.temperature_known_ms, a.temperature_min_c,
    a.temperature_max_c, a.process_ms, a.process_min, a.process_max, a.judged_ms,
    coalesce(r.rest_ms, 0) AS rest_ms, coalesce(r.longest_ms, 0) AS rest_longest_ms,
    coalesce(r.first_ms, 0) AS rest_first_ms, coalesce(r.last_ms, 0) AS rest_last_ms
FROM added a
LEFT JOIN at_rest r ON r.device_id = a.device_id AND r.cell = a.cell
ORDER BY day, device_id, cell
