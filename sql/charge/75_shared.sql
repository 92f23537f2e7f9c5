-- What a team takes over, divided over its cost centres by what they held in the pool, by largest remainder, ties by name; a team that
-- held nothing there takes it over without a cost centre.
-- grain: item x team x cost centre. units: ms
-- inputs: shared_team, idle_item, charge, tariff
-- parameters: none
-- output: shared
WITH center AS (
    SELECT t.pool, t.team, t.cost_center, CAST(sum(c.held_ms) AS DECIMAL(38, 0)) AS held_ms
    FROM (SELECT DISTINCT i.pool, s.team FROM shared_team s JOIN idle_item i ON i.item_no = s.item_no) n
    JOIN tariff t ON t.pool = n.pool AND t.team = n.team
    JOIN charge c ON c.tariff_no = t.tariff_no
    WHERE c.held_ms > 0
    GROUP BY t.pool, t.team, t.cost_center
),
product AS (
    SELECT s.item_no, s.team, s.ms AS all_ms, c.cost_center, CAST(s.ms AS DECIMAL(38, 0)) * coalesce(c.held_ms, 1) AS product,
        sum(coalesce(c.held_ms, 1)) OVER (PARTITION BY s.item_no, s.team) AS all_held
    FROM shared_team s
    JOIN idle_item i ON i.item_no = s.item_no
    LEFT JOIN center c ON c.pool = i.pool AND c.team = s.team
    WHERE s.ms > 0
),
floored AS (
    SELECT item_no, team, all_ms, cost_center, CAST((product - product % all_held) / all_held AS BIGINT) AS ms,
        row_number() OVER (PARTITION BY item_no, team ORDER BY product % all_held DESC, cost_center NULLS FIRST) AS place
    FROM product
),
missing AS (
    SELECT item_no, team, CAST(max(all_ms) - sum(ms) AS BIGINT) AS left_over FROM floored GROUP BY item_no, team
)
SELECT f.item_no, f.team, f.cost_center, f.ms + CASE WHEN CAST(f.place AS BIGINT) <= m.left_over THEN 1 ELSE 0 END AS ms
FROM floored f
JOIN missing m ON m.item_no = f.item_no AND m.team = f.team
