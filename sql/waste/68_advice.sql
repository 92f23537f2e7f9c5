-- Scale out or in, from figures of the period and how many of the six periods before its end were busy under 30 %:
-- out where more than 70 % of the time in service was busy and more than 1 % of it was waited for; in where under 30 % was
-- busy in at least three periods one after another up to this one, by as much as would leave it half busy; else stay.
-- Without a known busy share, or with less than 90 % of the time in service known, there is no advice.
-- grain: one row. units: ppm, ms
-- inputs: none
-- parameters: busy_ms BIGINT, service_ms BIGINT, unknown_ms BIGINT, waiting_ms BIGINT, low_periods BIGINT
-- output: advice
SELECT CASE
        WHEN service_ms <= 0 OR unknown_ms * 10 > service_ms THEN 'unknown'
        WHEN busy_ms * 10 > service_ms * 7 AND waiting_ms * 100 > service_ms THEN 'out'
        WHEN busy_ms * 10 < service_ms * 3 AND low_periods >= 3 THEN 'in'
        ELSE 'stay' END AS direction,
    CASE WHEN service_ms > 0 AND unknown_ms * 10 <= service_ms AND busy_ms * 2 < service_ms
        THEN service_ms - busy_ms * 2 ELSE 0 END AS spare_ms
FROM (
    SELECT CAST($busy_ms AS BIGINT) AS busy_ms, CAST($service_ms AS BIGINT) AS service_ms,
        CAST($unknown_ms AS BIGINT) AS unknown_ms, CAST($waiting_ms AS BIGINT) AS waiting_ms,
        CAST($low_periods AS BIGINT) AS low_periods
) AS given
