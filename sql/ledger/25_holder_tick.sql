-- What each holder did in each tick of a device: the sum over its processes. `measured` says that every one of its
-- rows has a busy time; one absent value makes the tick unmeasured for that holder.
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
    CAST(sum(mem_peak_bytes) AS BIGINT) AS mem_peak_bytes
FROM process
GROUP BY device_id, from_ms, holder
