-- Holders of GPUs that nobody named, cut into cells.
-- grain: holder x node x cell x interval. units: share units, epoch ms
-- inputs: held
-- parameters: lo_ms BIGINT, hi_ms BIGINT
-- output: count_cell
WITH clipped AS (
    SELECT holder, cluster, coalesce(node, '') AS node, coalesce(model, '') AS model, start_ms, share_units,
        CASE WHEN from_ms > CAST($lo_ms AS BIGINT) THEN from_ms ELSE CAST($lo_ms AS BIGINT) END AS from_ms,
        CASE WHEN to_ms < CAST($hi_ms AS BIGINT) THEN to_ms ELSE CAST($hi_ms AS BIGINT) END AS to_ms
    FROM held
    WHERE device_id IS NULL AND from_ms < CAST($hi_ms AS BIGINT) AND to_ms > CAST($lo_ms AS BIGINT)
),
cut AS (
    SELECT *, unnest(range(from_ms / 900000, (to_ms - 1) / 900000 + 1)) AS cell FROM clipped
)
SELECT holder, cluster, node, model, start_ms, cell, share_units,
    CASE WHEN from_ms > cell * 900000 THEN from_ms ELSE cell * 900000 END AS from_ms,
    CASE WHEN to_ms < (cell + 1) * 900000 THEN to_ms ELSE (cell + 1) * 900000 END AS to_ms
FROM cut
