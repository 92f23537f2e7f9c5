-- Intervals and their holders (and the rest of the card, holder 0) cut into cells.
-- grain: device x cell x holder x interval. key: device_id, cell, holder, from_ms. units: share units, epoch ms
-- inputs: interval_fact, granted
-- parameters: none
-- output: slot
WITH taken AS (
    SELECT device_id, from_ms, CAST(sum(units) AS BIGINT) AS units FROM granted GROUP BY device_id, from_ms
),
part AS (
    SELECT device_id, from_ms, to_ms, failed, false AS down, false AS up, holder, units, over_units FROM granted
    UNION ALL
    SELECT i.device_id, i.from_ms, i.to_ms, i.failed, i.down, i.up, 0, 72072000 - coalesce(t.units, 0), 0
    FROM interval_fact i
    LEFT JOIN taken t ON t.device_id = i.device_id AND t.from_ms = i.from_ms
    WHERE coalesce(t.units, 0) < 72072000
),
cut AS (
    SELECT *, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell FROM part
)
SELECT device_id, cell, holder, units, over_units, failed, down, up,
    CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END AS from_ms,
    CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END AS to_ms
FROM cut
