-- The asked window cut at every cell and at every edge. epoch_ms: the last edge (or the window's start) before the slice; what
-- is dated is the same in all of an epoch. phase_ms: the first instant at which the same epoch has the same discounts open;
-- a price is the same in all of a phase. slot_ms: the same inside one local day: what charges are added up by.
-- whole: the slice is its cell, so that no row in it is cut.
-- grain: slice. key: cell, from_ms. units: epoch ms
-- inputs: calendar, edge, discount_cell
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: slice
WITH inside AS (
    SELECT cell, day, month,
        CASE WHEN cell * 900000 > CAST($from_ms AS BIGINT) THEN cell * 900000 ELSE CAST($from_ms AS BIGINT) END AS from_ms,
        CASE WHEN (cell + 1) * 900000 < CAST($to_ms AS BIGINT) THEN (cell + 1) * 900000 ELSE CAST($to_ms AS BIGINT) END AS to_ms
    FROM calendar
),
point AS (
    SELECT cell, from_ms AS at_ms FROM inside
    UNION SELECT at_ms / 900000, at_ms FROM edge
),
piece AS (
    SELECT p.cell, p.at_ms, lead(p.at_ms) OVER (PARTITION BY p.cell ORDER BY p.at_ms) AS next_ms,
        coalesce(max(e.at_ms) OVER (ORDER BY p.at_ms ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), CAST($from_ms AS BIGINT))
            AS epoch_ms
    FROM point p
    LEFT JOIN edge e ON e.at_ms = p.at_ms
),
opened AS (
    SELECT cell, string_agg(CAST(discount_id AS VARCHAR), ',' ORDER BY discount_id) AS open FROM discount_cell GROUP BY cell
),
placed AS (
    SELECT p.cell, p.at_ms AS from_ms, coalesce(p.next_ms, c.to_ms) AS to_ms, c.day, c.month, p.epoch_ms, coalesce(o.open, '') AS open
    FROM piece p
    JOIN inside c ON c.cell = p.cell
    LEFT JOIN opened o ON o.cell = p.cell
    WHERE c.from_ms < c.to_ms
)
SELECT cell, from_ms, to_ms, day, month, epoch_ms,
    min(from_ms) OVER (PARTITION BY epoch_ms, open) AS phase_ms,
    min(from_ms) OVER (PARTITION BY epoch_ms, open, day) AS slot_ms,
    to_ms - from_ms = 900000 AS whole
FROM placed
