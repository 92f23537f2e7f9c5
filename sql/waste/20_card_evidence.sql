-- What each holder was seen to do on each card in the window: its cells added up.
-- sm_high_ppm is the highest mean of SM activity in a cell of which at least 90 % was held and measured.
-- grain: holder x device. key: holder, device_id. units: ms, ppm, bytes, mW, share units; sums of ppm x ms and mW x ms
-- inputs: holder_cell
-- parameters: from_cell BIGINT, to_cell BIGINT, from_day INT, to_day INT
-- output: card_evidence
SELECT holder, device_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, max(units) AS units,
    CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(covered_ms) AS BIGINT) AS covered_ms,
    CAST(sum(rest_ms) AS BIGINT) AS rest_ms, CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
    min(first_seen_ms) AS first_seen_ms, max(last_seen_ms) AS last_seen_ms,
    min(first_active_ms) AS first_active_ms, max(last_active_ms) AS last_active_ms,
    CAST(sum(sm_work) AS BIGINT) AS sm_work, CAST(sum(sm_known_ms) AS BIGINT) AS sm_known_ms,
    CAST(sum(dram_work) AS BIGINT) AS dram_work, CAST(sum(dram_known_ms) AS BIGINT) AS dram_known_ms,
    CAST(sum(tensor_work) AS BIGINT) AS tensor_work, CAST(sum(tensor_known_ms) AS BIGINT) AS tensor_known_ms,
    CAST(sum(power_work) AS BIGINT) AS power_work, CAST(sum(power_known_ms) AS BIGINT) AS power_known_ms,
    max(power_limit_mw) AS power_limit_mw, max(peak_ppm) AS peak_ppm, max(mem_peak_bytes) AS mem_peak_bytes,
    max(CASE WHEN sm_known_ms >= 810000 THEN sm_work / sm_known_ms END) AS sm_high_ppm,
    CAST(sum(hung_ms) AS BIGINT) AS hung_ms, CAST(sum(cpu_ms) AS BIGINT) AS cpu_ms,
    CAST(sum(io_wait_ms) AS BIGINT) AS io_wait_ms, max(processes) AS processes
FROM holder_cell
WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
    AND cell >= CAST($from_cell AS BIGINT) AND cell < CAST($to_cell AS BIGINT) AND holder > 0
GROUP BY holder, device_id
