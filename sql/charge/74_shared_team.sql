-- What teams take over of what nobody used: the milliseconds of each item are divided by weight, by largest remainder, ties by team,
-- so that the pool empties by exactly what others receive. An item of a pool that nobody held or has a quota in stays with the platform.
-- grain: item x team. key: item_no, team. units: ms
-- inputs: idle_item, share_weight
-- parameters: none
-- output: shared_team
WITH total AS (
    SELECT pool, method, CAST(sum(weight) AS DECIMAL(38, 0)) AS weight FROM share_weight GROUP BY pool, method
),
product AS (
    SELECT i.item_no, i.left_ms, w.team, CAST(i.left_ms AS DECIMAL(38, 0)) * w.weight AS product, t.weight AS all_weight
    FROM idle_item i
    JOIN total t ON t.pool = i.pool AND t.method = i.share
    JOIN share_weight w ON w.pool = i.pool AND w.method = i.share
    WHERE i.left_ms > 0
),
floored AS (
    SELECT item_no, left_ms, team, CAST((product - product % all_weight) / all_weight AS BIGINT) AS ms,
        row_number() OVER (PARTITION BY item_no ORDER BY product % all_weight DESC, team) AS place
    FROM product
),
missing AS (
    SELECT item_no, CAST(max(left_ms) - sum(ms) AS BIGINT) AS left_over FROM floored GROUP BY item_no
)
SELECT f.item_no, f.team, f.ms + CASE WHEN CAST(f.place AS BIGINT) <= m.left_over THEN 1 ELSE 0 END AS ms
FROM floored f
JOIN missing m ON m.item_no = f.item_no
