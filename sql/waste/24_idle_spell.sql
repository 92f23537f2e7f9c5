-- Spells in which all cards of a run were at rest together, chained over cells. A cell in which some card has more than
-- two minutes unmeasured is no rest and ends the spell before it. A spell claims the cells that are wholly in it.
-- first_seen_ms: when the rest was first looked at; reaches_end: the spell is the last thing seen of the run in the window.
-- grain: holder x spell. key: holder, from_ms. units: epoch ms, cells
-- inputs: holder_cell
-- parameters: from_cell BIGINT, to_cell BIGINT, from_day INT, to_day INT
-- output: idle_spell
WITH per_cell AS (
    SELECT holder, cell, min(from_ms) AS from_ms, max(to_ms) AS to_ms, max(held_ms - covered_ms) > 120000 AS hole,
        min(first_active_ms) AS first_active_ms, max(last_active_ms) AS last_active_ms, min(first_seen_ms) AS first_seen_ms
    FROM holder_cell
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
        AND cell >= CAST($from_cell AS BIGINT) AND cell < CAST($to_cell AS BIGINT) AND holder > 0
    GROUP BY holder, cell
),
dated AS (
    SELECT *, NOT hole AND first_active_ms IS NULL AS whole, max(to_ms) OVER (PARTITION BY holder) AS last_ms FROM per_cell
),
piece AS (
    -- end 0: from the start of the cell to the first activity; end 1: from the last activity to the end of the cell
    SELECT holder, cell, whole, last_ms, e.which,
        CASE WHEN e.which = 0 THEN from_ms ELSE last_active_ms END AS from_ms,
        CASE WHEN e.which = 1 OR whole THEN to_ms ELSE first_active_ms END AS to_ms,
        CASE WHEN e.which = 0 THEN first_seen_ms ELSE last_active_ms END AS seen_ms
    FROM dated
    CROSS JOIN (SELECT unnest([0, 1]) AS which) e
    WHERE NOT hole AND (e.which = 0 OR NOT whole)
),
ordered AS (
    SELECT *, CASE WHEN from_ms = lag(to_ms) OVER (PARTITION BY holder ORDER BY cell, which) THEN 0 ELSE 1 END AS starts
    FROM piece
    WHERE from_ms < to_ms
),
numbered AS (
    SELECT *, sum(starts) OVER (PARTITION BY holder ORDER BY cell, which) AS number FROM ordered
)
SELECT holder, min(from_ms) AS from_ms, max(to_ms) AS to_ms, min(seen_ms) AS first_seen_ms, max(to_ms) = max(last_ms) AS reaches_end,
    coalesce(min(CASE WHEN whole THEN cell END), 0) AS claim_from_cell,
    coalesce(max(CASE WHEN whole THEN cell END) + 1, 0) AS claim_to_cell
FROM numbered
GROUP BY holder, number
