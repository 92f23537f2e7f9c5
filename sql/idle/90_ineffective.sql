-- Ineffective occupancy: held and measured to be idle, of what was held and measured, in the week before an instant and in all the
-- time there is.
-- grain: one row. units: ms, epoch ms
-- inputs: usage
-- parameters: week_ms BIGINT, to_ms BIGINT
-- output: ineffective
SELECT min(CASE WHEN busy_ms + held_idle_ms > 0 THEN from_ms END) AS first_ms,
    CAST(coalesce(sum(held_idle_ms), 0) AS BIGINT) AS idle_ms,
    CAST(coalesce(sum(busy_ms + held_idle_ms), 0) AS BIGINT) AS measured_ms,
    CAST(coalesce(sum(CASE WHEN from_ms >= CAST($week_ms AS BIGINT) THEN held_idle_ms END), 0) AS BIGINT) AS week_idle_ms,
    CAST(coalesce(sum(CASE WHEN from_ms >= CAST($week_ms AS BIGINT) THEN busy_ms + held_idle_ms END), 0) AS BIGINT)
        AS week_measured_ms
FROM usage
WHERE from_ms < CAST($to_ms AS BIGINT)
