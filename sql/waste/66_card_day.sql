-- How busy each physical card was on each local day of the window: busy time over the time in which it was in service
-- (neither unavailable nor failed). A card-day is judged where at least 90 % of that time is known: neither unmeasured nor
-- unobserved. under: judged, and busy less than 40 % of it; effective_under the same of effective time, where every judged
-- held millisecond has one.
-- grain: card x local day. units: ms
-- inputs: fact, unit
-- parameters: none
-- output: card_day
WITH added AS (
    SELECT f.unit_id, f.day, sum(f.busy_ms) AS busy_ms, sum(f.capacity_ms - f.unavailable_ms) AS service_ms,
        sum(f.held_unmeasured_ms + f.unobserved_ms) AS unknown_ms, sum(f.effective_ms) AS effective_ms,
        sum(f.covered_ms) AS covered_ms, sum(f.judged_ms) AS judged_ms
    FROM fact f
    JOIN unit u ON u.unit_id = f.unit_id AND u.kind = 'device'
    GROUP BY f.unit_id, f.day
),
judged AS (
    SELECT *, service_ms > 0 AND unknown_ms * 10 <= service_ms AS is_judged FROM added
)
SELECT unit_id, day, CAST(busy_ms AS BIGINT) AS busy_ms, CAST(service_ms AS BIGINT) AS service_ms, 1 AS card_days,
    CASE WHEN is_judged THEN 1 ELSE 0 END AS judged_days,
    CASE WHEN is_judged AND busy_ms * 10 < service_ms * 4 THEN 1 ELSE 0 END AS under_days,
    CASE WHEN is_judged AND (covered_ms = 0 OR judged_ms >= covered_ms) THEN 1 ELSE 0 END AS effective_judged_days,
    CASE WHEN NOT is_judged THEN 0 WHEN covered_ms = 0 THEN 1
        WHEN judged_ms >= covered_ms AND effective_ms * 10 < service_ms * 4 THEN 1 ELSE 0 END AS effective_under_days
FROM judged
