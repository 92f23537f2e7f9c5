-- A census of physical cards over whole cells of a window: of SM activity, utilization, memory, power, temperature and
-- processes the mean over the time for which each is known, the least and the greatest; time at rest, the longest spell at
-- rest and the number of spells of an hour or more, chained over cells. A spell ends where nobody looked.
-- coverage: time in state ok over the window. enough: the window has 7 days or more, and coverage is 90 % or more.
-- grain: card. units: ppm, bytes, mW, degrees Celsius, thousandths of a process, ms
-- inputs: unit, device_cell
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: census_card
WITH near AS (
    SELECT *, lag(cell) OVER by_card AS before_cell, lead(cell) OVER by_card AS next_cell,
        lead(rest_first_ms) OVER by_card AS next_first_ms
    FROM device_cell
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
        AND cell * 900000 >= CAST($from_ms AS BIGINT) AND (cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
    WINDOW by_card AS (PARTITION BY device_id ORDER BY cell)
),
chained AS (
    -- a chain is a cell and the cells wholly at rest that follow it
    SELECT *, rest_first_ms = 900000 AND coalesce(before_cell = cell - 1, false) AS follows,
        sum(CASE WHEN rest_first_ms = 900000 AND before_cell = cell - 1 THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id ORDER BY cell ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS chain
    FROM near
),
chains AS (
    SELECT device_id, chain,
        sum(CASE WHEN follows THEN 900000 ELSE rest_last_ms END
            + CASE WHEN next_cell = cell + 1 AND next_first_ms < 900000 THEN next_first_ms ELSE 0 END) AS spell_ms,
        max(rest_longest_ms) AS inside_ms, sum(ok_ms) AS ok_ms, sum(judged_ms) AS judged_ms, sum(rest_ms) AS rest_ms,
        sum(CAST(sm_ppm_ms AS DECIMAL(38, 0))) AS sm, sum(sm_known_ms) AS sm_ms, min(sm_min_ppm) AS sm_min,
        max(sm_max_ppm) AS sm_max, sum(CAST(gpu_util_ppm_ms AS DECIMAL(38, 0))) AS util, sum(gpu_util_known_ms) AS util_ms,
        min(gpu_util_min_ppm) AS util_min, max(gpu_util_max_ppm) AS util_max,
        sum(CAST(mem_used_byte_ms AS DECIMAL(38, 0))) AS mem, sum(mem_known_ms) AS mem_ms, min(mem_used_min_bytes) AS mem_min,
        max(mem_used_max_bytes) AS mem_max, max(mem_total_bytes) AS mem_total,
        sum(CAST(power_mw_ms AS DECIMAL(38, 0))) AS power, sum(power_known_ms) AS power_ms, min(power_min_mw) AS power_min,
        max(power_max_mw) AS power_max, sum(CAST(temperature_c_ms AS DECIMAL(38, 0))) AS temperature,
        sum(temperature_known_ms) AS temperature_ms, min(temperature_min_c) AS temperature_min,
        max(temperature_max_c) AS temperature_max, sum(CAST(process_ms AS DECIMAL(38, 0))) AS process,
        min(process_min) AS process_min, max(process_max) AS process_max
    FROM chained
    GROUP BY device_id, chain
),
card AS (
    SELECT device_id, CASE WHEN max(spell_ms) > max(inside_ms) THEN max(spell_ms) ELSE max(inside_ms) END AS longest_ms,
        count(CASE WHEN spell_ms >= 3600000 THEN 1 END) AS spells, sum(ok_ms) AS ok_ms, sum(judged_ms) AS judged_ms,
        sum(rest_ms) AS rest_ms, sum(sm) AS sm, nullif(sum(sm_ms), 0) AS sm_ms, min(sm_min) AS sm_min, max(sm_max) AS sm_max,
        sum(util) AS util, nullif(sum(util_ms), 0) AS util_ms, min(util_min) AS util_min, max(util_max) AS util_max,
        sum(mem) AS mem, nullif(sum(mem_ms), 0) AS mem_ms, min(mem_min) AS mem_min, max(mem_max) AS mem_max,
        max(mem_total) AS mem_total, sum(power) AS power, nullif(sum(power_ms), 0) AS power_ms, min(power_min) AS power_min,
        max(power_max) AS power_max, sum(temperature) AS temperature, nullif(sum(temperature_ms), 0) AS temperature_ms,
        min(temperature_min) AS temperature_min, max(temperature_max) AS temperature_max, sum(process) AS process,
        min(process_min) AS process_min, max(process_max) AS process_max
    FROM chains
    GROUP BY device_id
)
SELECT u.cluster, coalesce(u.node, '-') AS node, coalesce(u.uuid, '-') AS device, coalesce(u.model, '-') AS model,
    CAST(coalesce(c.ok_ms, 0) AS BIGINT) AS ok_ms,
    CAST(coalesce(c.ok_ms, 0) * 1000000 / (CAST($to_ms AS BIGINT) - CAST($from_ms AS BIGINT)) AS BIGINT) AS coverage_ppm,
    CAST($to_ms AS BIGINT) - CAST($from_ms AS BIGINT) >= 604800000
        AND coalesce(c.ok_ms, 0) * 10 >= (CAST($to_ms AS BIGINT) - CAST($from_ms AS BIGINT)) * 9 AS enough,
    CAST((c.sm - c.sm % c.sm_ms) / c.sm_ms AS BIGINT) AS sm_mean_ppm, c.sm_min AS sm_trough_ppm, c.sm_max AS sm_peak_ppm,
    CAST((c.util - c.util % c.util_ms) / c.util_ms AS BIGINT) AS util_mean_ppm, c.util_min AS util_trough_ppm,
    c.util_max AS util_peak_ppm, CAST((c.mem - c.mem % c.mem_ms) / c.mem_ms AS BIGINT) AS mem_mean_bytes,
    c.mem_min AS mem_trough_bytes, c.mem_max AS mem_peak_bytes, c.mem_total AS mem_total_bytes,
    CAST((c.power - c.power % c.power_ms) / c.power_ms AS BIGINT) AS power_mean_mw, c.power_min AS power_trough_mw,
    c.power_max AS power_peak_mw,
    CAST((c.temperature - c.temperature % c.temperature_ms) / c.temperature_ms AS BIGINT) AS temperature_mean_c,
    c.temperature_min AS temperature_trough_c, c.temperature_max AS temperature_peak_c,
    CAST((c.process * 1000 - c.process * 1000 % c.ok_ms) / c.ok_ms AS BIGINT) AS processes_mean_milli,
    c.process_min AS processes_trough, c.process_max AS processes_peak,
    CAST(CASE WHEN c.judged_ms > 0 THEN c.rest_ms END AS BIGINT) AS rest_ms,
    CAST(CASE WHEN c.judged_ms > 0 THEN c.longest_ms END AS BIGINT) AS longest_rest_ms,
    CASE WHEN c.judged_ms > 0 THEN c.spells END AS rest_spells
FROM unit u
LEFT JOIN card c ON c.device_id = u.unit_id
WHERE u.kind = 'device'
ORDER BY u.cluster, node, device
