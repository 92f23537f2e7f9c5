-- The hours of the week of a census: SM activity, utilization, memory and power by local weekday (Monday 1) and hour, over
-- all cards; means over the time for which each is known.
-- grain: weekday x hour. units: ppm, bytes, mW, ms
-- inputs: device_cell, calendar
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: census_hour
WITH added AS (
    SELECT c.weekday, c.hour, sum(d.ok_ms) AS ok_ms, sum(d.rest_ms) AS rest_ms, nullif(sum(d.judged_ms), 0) AS judged_ms,
        sum(CAST(d.sm_ppm_ms AS DECIMAL(38, 0))) AS sm, nullif(sum(d.sm_known_ms), 0) AS sm_ms,
        sum(CAST(d.gpu_util_ppm_ms AS DECIMAL(38, 0))) AS util, nullif(sum(d.gpu_util_known_ms), 0) AS util_ms,
        sum(CAST(d.mem_used_byte_ms AS DECIMAL(38, 0))) AS mem, nullif(sum(d.mem_known_ms), 0) AS mem_ms,
        sum(CAST(d.power_mw_ms AS DECIMAL(38, 0))) AS power, nullif(sum(d.power_known_ms), 0) AS power_ms
    FROM device_cell d
    JOIN calendar c ON c.cell = d.cell
    WHERE d.day >= CAST($from_day AS INT) AND d.day <= CAST($to_day AS INT)
        AND d.cell * 900000 >= CAST($from_ms AS BIGINT) AND (d.cell + 1) * 900000 <= CAST($to_ms AS BIGINT)
    GROUP BY c.weekday, c.hour
)
SELECT CAST(weekday AS BIGINT) AS weekday, CAST(hour AS BIGINT) AS hour, CAST(ok_ms AS BIGINT) AS ok_ms,
    CAST((sm - sm % sm_ms) / sm_ms AS BIGINT) AS sm_mean_ppm, CAST((util - util % util_ms) / util_ms AS BIGINT) AS util_mean_ppm,
    CAST((mem - mem % mem_ms) / mem_ms AS BIGINT) AS mem_mean_bytes,
    CAST((power - power % power_ms) / power_ms AS BIGINT) AS power_mean_mw,
    CAST(rest_ms * 1000000 / judged_ms AS BIGINT) AS rest_ppm
FROM added
ORDER BY weekday, hour
