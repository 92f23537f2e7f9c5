-- Who pays for each set of facts, over time: in every interval the rows of the best rank (of equal ranks the first
-- value), with the parts before each for telescoping. Where no row fits, the team is `unassigned` (or `foreign`).
-- grain: owner_key x interval x team. units: parts of 10 000, epoch ms
-- inputs: owner_key, owner_match
-- parameters: none
-- output: owner_span
WITH edge AS (
    SELECT owner_key, 0 AS at_ms FROM owner_key
    UNION SELECT owner_key, 9000000000000000 FROM owner_key
    UNION SELECT owner_key, from_ms FROM owner_match
    UNION SELECT owner_key, to_ms FROM owner_match
),
piece AS (
    SELECT owner_key, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY owner_key ORDER BY at_ms) AS to_ms FROM edge
),
valid AS (
    SELECT p.owner_key, p.from_ms, p.to_ms, m.rank, m.value, m.team, m.cost_center, m.parts,
        first_value(m.rank) OVER best AS best_rank,
        first_value(m.value) OVER best AS best_value
    FROM piece p
    LEFT JOIN owner_match m ON m.owner_key = p.owner_key AND m.from_ms <= p.from_ms AND m.to_ms >= p.to_ms
    WHERE p.to_ms IS NOT NULL
    WINDOW best AS (PARTITION BY p.owner_key, p.from_ms ORDER BY m.rank, m.value, m.team, m.cost_center)
),
chosen AS (
    SELECT v.owner_key, v.from_ms, v.to_ms,
        coalesce(v.team, CASE WHEN k.kind = 'foreign' THEN 'foreign' ELSE 'unassigned' END) AS team, v.cost_center,
        coalesce(v.parts, 10000) AS parts
    FROM valid v
    JOIN owner_key k ON k.owner_key = v.owner_key
    WHERE v.rank IS NULL OR (v.rank = v.best_rank AND v.value = v.best_value)
)
SELECT owner_key, from_ms, to_ms, team, cost_center, parts,
    coalesce(sum(parts) OVER (
        PARTITION BY owner_key, from_ms ORDER BY team, cost_center NULLS FIRST
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS parts_before
FROM chosen
