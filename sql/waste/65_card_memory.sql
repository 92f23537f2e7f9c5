-- Memory of each card whose memory was measured in the window: what it has, the most that was ever in use, and what never
-- was: the margin. Its dimensions are those under which most of its time stands.
-- grain: card. units: bytes
-- inputs: device_cell, fact, unit
-- parameters: from_ms BIGINT, to_ms BIGINT, from_day INT, to_day INT
-- output: card_memory
WITH seen AS (
    SELECT device_id, max(mem_total_bytes) AS total_bytes, max(mem_used_max_bytes) AS peak_bytes
    FROM device_cell
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
        AND (cell + 1) * 900000 > CAST($from_ms AS BIGINT) AND cell * 900000 < CAST($to_ms AS BIGINT)
    GROUP BY device_id
),
placed AS (
    SELECT unit_id, pool, tier, model, cluster, CAST(sum(capacity_ms) AS BIGINT) AS capacity_ms
    FROM fact
    GROUP BY unit_id, pool, tier, model, cluster
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY unit_id ORDER BY capacity_ms DESC, pool, tier, model) AS place FROM placed
)
SELECT p.pool, p.tier, coalesce(n.queue, '-') AS queue, p.model, p.cluster, 1 AS cards, u.device_id, u.total_bytes,
    u.peak_bytes, CASE WHEN u.total_bytes > u.peak_bytes THEN u.total_bytes - u.peak_bytes ELSE 0 END AS margin_bytes
FROM seen u
JOIN ranked p ON p.unit_id = u.device_id AND p.place = 1
LEFT JOIN unit n ON n.unit_id = u.device_id
WHERE u.total_bytes IS NOT NULL AND u.peak_bytes IS NOT NULL
