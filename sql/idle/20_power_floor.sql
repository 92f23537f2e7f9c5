-- The power of a card of each model with nothing to do: the reference row that holds, else the exact 95th percentile (nearest
-- rank) of the power of its healthy ticks while nobody held it and no process was on it, if there are at least 60. A model
-- with neither has no floor, and none is guessed.
-- grain: model. key: model. units: mW, epoch ms
-- inputs: power_floor, tick, device_span, holder, process
-- parameters: at_ms BIGINT
-- output: idle_floor
WITH told AS (
    SELECT model, max(floor_mw) AS floor_mw
    FROM power_floor
    WHERE from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
    GROUP BY model
),
free AS (
    SELECT d.model, t.power_mw, t.device_id, t.from_ms
    FROM tick t
    JOIN device_span d ON d.device_id = t.device_id AND d.from_ms <= t.from_ms AND d.to_ms > t.from_ms
    WHERE t.healthy AND t.power_mw IS NOT NULL AND d.model IS NOT NULL AND t.to_ms <= CAST($at_ms AS BIGINT)
        AND NOT EXISTS (
            SELECT 1 FROM holder h WHERE h.device_id = t.device_id AND h.from_ms < t.to_ms AND h.to_ms > t.from_ms
        )
        AND NOT EXISTS (SELECT 1 FROM process p WHERE p.device_id = t.device_id AND p.from_ms = t.from_ms)
),
ranked AS (
    SELECT model, power_mw, row_number() OVER (PARTITION BY model ORDER BY power_mw, device_id, from_ms) AS place,
        count(*) OVER (PARTITION BY model) AS ticks
    FROM free
)
SELECT model, floor_mw, 'reference' AS basis, CAST(NULL AS BIGINT) AS ticks FROM told
UNION ALL
SELECT r.model, r.power_mw, 'p95', r.ticks
FROM ranked r
LEFT JOIN told t ON t.model = r.model
WHERE t.model IS NULL AND r.ticks >= 60 AND r.place = (r.ticks * 95 + 99) / 100
