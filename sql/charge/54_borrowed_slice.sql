-- Who borrowed: what a team holds above its quota in a slice lies on its runs that started last (of equal starts the greater id),
-- as far as each holds.
-- grain: pool x team x slice x holder. units: ms
-- inputs: team_row, quota_slice, run
-- parameters: none
-- output: borrowed_slice
WITH held AS (
    SELECT t.pool, t.team, t.slice_ms, t.holder, CAST(sum(t.busy_ms + t.held_idle_ms + t.held_unmeasured_ms) AS BIGINT) AS held_ms,
        max(q.borrowed_ms) AS all_borrowed_ms
    FROM quota_slice q
    JOIN team_row t ON t.pool = q.pool AND t.team = q.team AND t.slice_ms = q.slice_ms
    WHERE q.borrowed_ms > 0
    GROUP BY t.pool, t.team, t.slice_ms, t.holder
),
ordered AS (
    SELECT h.*,
        sum(h.held_ms) OVER (PARTITION BY h.pool, h.team, h.slice_ms ORDER BY r.start_ms DESC NULLS LAST, h.holder DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - h.held_ms AS before_ms
    FROM held h
    LEFT JOIN run r ON r.holder = h.holder
)
SELECT pool, team, slice_ms, holder, held_ms,
    CASE WHEN all_borrowed_ms - before_ms < held_ms THEN all_borrowed_ms - before_ms ELSE held_ms END AS borrowed_ms
FROM ordered
WHERE before_ms < all_borrowed_ms AND held_ms > 0
