-- How much there is to do per UTC day: minute rows, and cells of holding and of capacity.
-- grain: day. units: rows
-- inputs: device_minute, holding, device_span, spare
-- parameters: day_from INT, day_to INT
-- output: day_rows
WITH span AS (
    SELECT from_ms, to_ms FROM holding
    UNION ALL SELECT from_ms, to_ms FROM device_span
    UNION ALL SELECT from_ms, to_ms FROM spare
),
clipped AS (
    SELECT CASE WHEN from_ms / 86400000 > CAST($day_from AS INT) THEN from_ms / 86400000 ELSE CAST($day_from AS INT) END
            AS day_from,
        CASE WHEN (to_ms - 1) / 86400000 < CAST($day_to AS INT) - 1 THEN (to_ms - 1) / 86400000
            ELSE CAST($day_to AS INT) - 1 END AS day_to
    FROM span
),
by_day AS (
    SELECT unnest(range(CAST(day_from AS BIGINT), CAST(day_to AS BIGINT) + 1)) AS day FROM clipped WHERE day_to >= day_from
),
counted AS (
    SELECT day, 96 * count(*) AS n FROM by_day GROUP BY day
    UNION ALL
    SELECT CAST(day AS BIGINT), 2 * count(*) FROM device_minute
    WHERE day >= CAST($day_from AS INT) AND day < CAST($day_to AS INT)
    GROUP BY day
)
SELECT day, CAST(sum(n) AS BIGINT) AS n
FROM counted
GROUP BY day
ORDER BY day
