-- What each holder did in each tick of a device: the sum over its processes. `measured` says that every one of its
-- rows has a busy time; one absent value makes the tick unmeasured for that holder, and an activity of the holder is known
-- only if that of each of its processes is.
-- grain: device x tick x holder. key: device_id, tick_from_ms, holder. units: ms, ppm, bytes
-- inputs: process
-- parameters: none
-- output: holder_tick
SELECT device_id, from_ms AS tick_from_ms, holder,
    min(placed_ms) AS placed_ms, min(dur_ms) AS dur_ms,
    count(*) = count(busy_ms) AS measured,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
    CASE WHEN sum(composite_ppm) > 1000000 THEN 1000000 ELSE CAST(sum(composite_ppm) AS BIGINT) END AS composite_ppm,
    min(basis_rank) AS basis_rank,
    CAST(sum(mem_peak_bytes) AS BIGINT) AS mem_peak_bytes,
    CASE WHEN count(*) = count(sm_ppm) THEN CAST(sum(sm_ppm) AS BIGINT) END AS sm_ppm,
    CASE WHEN count(*) = count(dram_ppm) THEN CAST(sum(dram_ppm) AS BIGINT) END AS dram_ppm,
    CASE WHEN count(*) = count(tensor_ppm) THEN CAST(sum(tensor_ppm) AS BIGINT) END AS tensor_ppm,
    max(peak_ppm) AS peak_ppm,
    CAST(sum(cpu_ms) AS BIGINT) AS cpu_ms, CAST(sum(io_wait_ms) AS BIGINT) AS io_wait_ms,
    CAST(sum(read_bytes) AS BIGINT) AS read_bytes,
    count(*) AS processes
FROM process
GROUP BY device_id, from_ms, holder
