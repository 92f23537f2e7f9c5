-- Who borrowed: what a team holds above its quota in a cell lies on its runs that started last (of equal starts the greater
-- id), as far as each holds.
-- grain: pool x team x holder. units: ms
-- inputs: team_cell, quota_cell, run
-- parameters: none
-- output: borrowed_run
WITH running AS (
    SELECT t.*, q.borrowed_ms,
        sum(t.held_ms) OVER (PARTITION BY t.pool, t.team, t.cell ORDER BY t.start_ms DESC NULLS LAST, t.holder DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - t.held_ms AS before_ms
    FROM team_cell t
    JOIN quota_cell q ON q.pool = t.pool AND q.team = t.team AND q.cell = t.cell
    WHERE q.borrowed_ms > 0
),
borrowed AS (
    SELECT pool, team, holder,
        CAST(sum(CASE WHEN borrowed_ms - before_ms < held_ms THEN borrowed_ms - before_ms ELSE held_ms END) AS BIGINT) AS borrowed_ms
    FROM running
    WHERE before_ms < borrowed_ms
    GROUP BY pool, team, holder
)
SELECT b.pool, b.team, b.holder, coalesce(r.cluster, '-') AS cluster, coalesce(r.job_raw, '-') AS job,
    coalesce(r."user", '-') AS "user", b.borrowed_ms
FROM borrowed b
LEFT JOIN run r ON r.holder = b.holder
ORDER BY b.borrowed_ms DESC, b.pool, b.team, b.holder
