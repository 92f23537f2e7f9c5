-- Capacity that quotas reserve, where a pool is billed by quota: a kind of use of its own, without a task type. Its model and
-- tier are those of the pool's cards where they all are alike, else none, so that only a rate that asks for neither prices it. Its
-- cost centre is the one that the team's owner rows name in that epoch, where they name one only.
-- grain: pool x team x epoch
-- inputs: placed, pool_terms, quota, owner
-- parameters: none
-- output: reserve_kind
WITH reserved AS (
    SELECT q.pool, q.team, t.epoch_ms, t.mode, t.share_unallocated, t.share_unavailable, t.share_unobserved
    FROM quota q
    JOIN pool_terms t ON t.pool = q.pool AND t.mode = 'quota' AND q.from_ms <= t.epoch_ms
        AND (q.to_ms IS NULL OR q.to_ms > t.epoch_ms)
),
cards AS (
    SELECT pool, epoch_ms,
        CASE WHEN count(DISTINCT coalesce(model, '')) = 1 THEN max(model) END AS model,
        CASE WHEN count(DISTINCT coalesce(tier, '')) = 1 THEN max(tier) END AS tier
    FROM placed
    WHERE mode = 'quota'
    GROUP BY pool, epoch_ms
),
center AS (
    SELECT r.team, r.epoch_ms, CASE WHEN count(DISTINCT coalesce(o.cost_center, '')) = 1 THEN max(o.cost_center) END AS cost_center
    FROM (SELECT DISTINCT team, epoch_ms FROM reserved) r
    JOIN owner o ON replace(o.team, '{value}', o.value) = r.team AND o.from_ms <= r.epoch_ms
        AND (o.to_ms IS NULL OR o.to_ms > r.epoch_ms)
    GROUP BY r.team, r.epoch_ms
),
dated AS (
    SELECT DISTINCT r.pool, r.team, c.cost_center, r.epoch_ms, k.model, k.tier, r.mode, r.share_unallocated,
        r.share_unavailable, r.share_unobserved,
        r.team || chr(31) || chr(31) || r.pool || chr(31) || coalesce(k.model, '') || chr(31) || coalesce(k.tier, '')
            || chr(31) || 'reserved' AS rate_key
    FROM reserved r
    JOIN cards k ON k.pool = r.pool AND k.epoch_ms = r.epoch_ms
    LEFT JOIN center c ON c.team = r.team AND c.epoch_ms = r.epoch_ms
)
SELECT *, rate_key || chr(31) || CASE WHEN cost_center IS NULL THEN '' ELSE '=' || cost_center END || chr(31) || mode || chr(31)
    || share_unallocated || chr(31) || share_unavailable || chr(31) || share_unobserved AS use_key
FROM dated
