-- Quota against held, per pool, team and cell. A quota is the row valid at the start of the cell: its GPUs x the part of the
-- cell that lies in the window, or its part of the pool's capacity there. It counts only where the pool has capacity.
-- Borrowed is what a team holds above its quota; spare what it leaves of it. A team without a quota row borrows nothing that
-- could be known: its quota, borrowed and spare are absent.
-- grain: pool x team x cell. units: ms
-- inputs: team_cell, pool_cell, quota
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: quota_cell
WITH held AS (
    SELECT pool, team, cell, CAST(sum(held_ms) AS BIGINT) AS held_ms FROM team_cell GROUP BY pool, team, cell
),
allowed AS (
    SELECT q.pool, q.team, p.cell,
        CASE WHEN q.gpus IS NOT NULL THEN q.gpus * (
                CASE WHEN (p.cell + 1) * 900000 < CAST($to_ms AS BIGINT) THEN (p.cell + 1) * 900000 ELSE CAST($to_ms AS BIGINT) END
                - CASE WHEN p.cell * 900000 > CAST($from_ms AS BIGINT) THEN p.cell * 900000 ELSE CAST($from_ms AS BIGINT) END)
            ELSE p.capacity_ms * q.pool_share_ppm / 1000000 END AS quota_ms
    FROM pool_cell p
    JOIN quota q ON q.pool = p.pool
    WHERE q.from_ms <= p.cell * 900000 AND (q.to_ms IS NULL OR q.to_ms > p.cell * 900000)
)
SELECT coalesce(a.pool, h.pool) AS pool, coalesce(a.team, h.team) AS team, coalesce(a.cell, h.cell) AS cell, a.quota_ms,
    coalesce(h.held_ms, 0) AS held_ms,
    CASE WHEN h.held_ms > a.quota_ms THEN h.held_ms - a.quota_ms WHEN a.quota_ms IS NOT NULL THEN 0 END AS borrowed_ms,
    CASE WHEN h.held_ms IS NULL THEN a.quota_ms WHEN h.held_ms < a.quota_ms THEN a.quota_ms - h.held_ms
        WHEN a.quota_ms IS NOT NULL THEN 0 END AS spare_ms
FROM allowed a
FULL JOIN held h ON h.pool = a.pool AND h.team = a.team AND h.cell = a.cell
