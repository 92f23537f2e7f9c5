-- The team that pays for each (of several the one with the greatest part, of equal ones the first name) and the pool of its cards
-- at that instant (of several the first name).
-- grain: holder. key: holder
-- inputs: place_of, owner_span, pool_span
-- parameters: at_ms BIGINT
-- output: run_place
WITH pooled AS (
    SELECT p.holder, min(s.pool) AS pool, min(p.owner_key) AS owner_key
    FROM place_of p
    JOIN pool_span s ON s.pool_key = p.pool_key AND s.from_ms <= CAST($at_ms AS BIGINT) AND s.to_ms > CAST($at_ms AS BIGINT)
    GROUP BY p.holder
),
ranked AS (
    SELECT p.holder, p.pool, o.team,
        row_number() OVER (PARTITION BY p.holder ORDER BY o.parts DESC, o.team, o.cost_center) AS place
    FROM pooled p
    JOIN owner_span o ON o.owner_key = p.owner_key AND o.from_ms <= CAST($at_ms AS BIGINT) AND o.to_ms > CAST($at_ms AS BIGINT)
)
SELECT holder, team, pool FROM ranked WHERE place = 1
