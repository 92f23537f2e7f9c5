-- The class of each part, as numerators of a 72 072 000th of a card: covered, held and unmeasured, unallocated,
-- unavailable, unobserved. A failed device is unavailable whoever holds it; nobody's part is unavailable where the node
-- is down, unallocated where it is up or a healthy tick lies, else unobserved.
-- grain: device x cell x holder x interval. units: share units x ms
-- inputs: measured
-- parameters: none
-- output: part
SELECT device_id, cell, holder, from_ms, to_ms, units, zero_ms, work, basis_rank, mem_peak_bytes, failed,
    CASE WHEN holder <> 0 AND NOT failed THEN units * ok_ms ELSE 0 END AS n1,
    CASE WHEN holder <> 0 AND NOT failed THEN units * (to_ms - from_ms - ok_ms) ELSE 0 END AS n2,
    CASE WHEN holder <> 0 OR failed OR down THEN 0 WHEN up THEN units * (to_ms - from_ms) ELSE units * ok_ms END AS n3,
    CASE WHEN failed OR (holder = 0 AND down) THEN units * (to_ms - from_ms) ELSE 0 END AS n4,
    CASE WHEN holder <> 0 OR failed OR down OR up THEN 0 ELSE units * (to_ms - from_ms - ok_ms) END AS n5,
    over_units * (to_ms - from_ms) / 72072000 AS conflict_ms
FROM measured
