-- Quota against held, per pool, team and slice. A quota is its GPUs x the slice's length, or its part of the pool's capacity in the
-- slice; it counts only where the pool has capacity. Borrowed is what a team holds above it, spare what it leaves of it. Where
-- a pool is billed by quota, a team without a quota has one of nothing; elsewhere it borrows nothing that could be known.
-- grain: pool x team x slice. units: ms
-- inputs: team_row, pool_slice, quota
-- parameters: none
-- output: quota_slice
WITH held AS (
    SELECT pool, team, slice_ms, CAST(sum(busy_ms + held_idle_ms + held_unmeasured_ms) AS BIGINT) AS held_ms
    FROM team_row
    GROUP BY pool, team, slice_ms
),
allowed AS (
    SELECT q.pool, q.team, p.slice_ms,
        CAST(sum(CASE WHEN q.gpus IS NOT NULL THEN q.gpus * (p.slice_to_ms - p.slice_ms)
            ELSE p.capacity_ms * q.pool_share_ppm / 1000000 END) AS BIGINT) AS quota_ms
    FROM pool_slice p
    JOIN quota q ON q.pool = p.pool AND q.from_ms <= p.slice_ms AND (q.to_ms IS NULL OR q.to_ms > p.slice_ms)
    WHERE p.capacity_ms > 0
    GROUP BY q.pool, q.team, p.slice_ms
),
both AS (
    SELECT coalesce(a.pool, h.pool) AS pool, coalesce(a.team, h.team) AS team, coalesce(a.slice_ms, h.slice_ms) AS slice_ms,
        a.quota_ms, coalesce(h.held_ms, 0) AS held_ms
    FROM allowed a
    FULL JOIN held h ON h.pool = a.pool AND h.team = a.team AND h.slice_ms = a.slice_ms
),
known AS (
    SELECT b.pool, b.team, b.slice_ms, p.slot_ms, p.reserved, b.held_ms,
        CASE WHEN b.quota_ms IS NOT NULL THEN b.quota_ms WHEN p.reserved THEN 0 END AS quota_ms
    FROM both b
    JOIN pool_slice p ON p.pool = b.pool AND p.slice_ms = b.slice_ms
)
SELECT pool, team, slice_ms, slot_ms, reserved, quota_ms, held_ms,
    CASE WHEN held_ms > quota_ms THEN held_ms - quota_ms WHEN quota_ms IS NOT NULL THEN 0 END AS borrowed_ms,
    CASE WHEN held_ms < quota_ms THEN quota_ms - held_ms WHEN quota_ms IS NOT NULL THEN 0 END AS spare_ms
FROM known
