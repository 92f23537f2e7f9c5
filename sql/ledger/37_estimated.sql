-- Time of a holder in a cell that was bridged, as a memo.
-- grain: device x cell x holder. units: ms
-- inputs: slot, bridge
-- parameters: none
-- output: estimated
SELECT s.device_id, s.cell, s.holder, s.from_ms,
    CAST(sum(s.units * (CASE WHEN b.to_ms < s.to_ms THEN b.to_ms ELSE s.to_ms END
        - CASE WHEN b.from_ms > s.from_ms THEN b.from_ms ELSE s.from_ms END)) / 72072000 AS BIGINT) AS estimated_ms
FROM slot s
JOIN bridge b ON b.device_id = s.device_id AND b.holder = s.holder AND b.from_ms < s.to_ms AND b.to_ms > s.from_ms
WHERE NOT s.failed
GROUP BY s.device_id, s.cell, s.holder, s.from_ms
