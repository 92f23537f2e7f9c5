-- Who bears what nobody used of a pool, and in which proportion, over the asked window. held: by time held in the pool. even: each
-- team that held there or has a quota there alike. quota: by quota x time (a part of a pool: of its capacity in the epochs in which it
-- is valid). Foreign use that nobody owns bears nothing.
-- grain: pool x method x team. key: pool, method, team. units: weights; of quota GPU-ms x 10^6
-- inputs: charge, tariff, quota, slot_use, price_slot, owned_at, use_kind, pool_terms
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: share_weight
WITH held AS (
    SELECT t.pool, t.team, sum(c.held_ms) AS ms
    FROM tariff t
    JOIN charge c ON c.tariff_no = t.tariff_no
    WHERE t.payer AND c.held_ms > 0
    GROUP BY t.pool, t.team
),
inside AS (
    SELECT pool, team, gpus, pool_share_ppm, from_ms AS valid_from_ms, coalesce(to_ms, 9000000000000000) AS valid_to_ms,
        CASE WHEN from_ms > CAST($from_ms AS BIGINT) THEN from_ms ELSE CAST($from_ms AS BIGINT) END AS from_ms,
        CASE WHEN to_ms < CAST($to_ms AS BIGINT) THEN to_ms ELSE CAST($to_ms AS BIGINT) END AS to_ms
    FROM quota
    WHERE from_ms < CAST($to_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($from_ms AS BIGINT))
),
capacity AS (
    SELECT k.pool, s.epoch_ms, sum(p.busy_ms + p.held_idle_ms + p.held_unmeasured_ms + p.unallocated_ms + p.unavailable_ms
        + p.unobserved_ms) AS ms
    FROM price_slot s
    JOIN slot_use p ON p.slot_ms = s.slot_ms
    JOIN owned_at o ON o.unit_id = p.unit_id AND o.holder = p.holder AND o.epoch_ms = s.epoch_ms
    JOIN use_kind k ON k.use_no = o.use_no
    JOIN (SELECT DISTINCT pool FROM inside WHERE pool_share_ppm IS NOT NULL) q ON q.pool = k.pool
    WHERE o.parts_before = 0
    GROUP BY k.pool, s.epoch_ms
),
promised AS (
    SELECT pool, team, CAST(gpus AS DECIMAL(38, 0)) * (to_ms - from_ms) * 1000000 AS weight FROM inside WHERE gpus IS NOT NULL
    UNION ALL
    SELECT i.pool, i.team, CAST(c.ms AS DECIMAL(38, 0)) * i.pool_share_ppm
    FROM inside i
    JOIN capacity c ON c.pool = i.pool AND i.valid_from_ms <= c.epoch_ms AND i.valid_to_ms > c.epoch_ms
    WHERE i.gpus IS NULL
),
asked AS (
    SELECT DISTINCT pool, share AS method
    FROM (
        SELECT pool, share_unallocated AS share FROM pool_terms
        UNION ALL SELECT pool, share_unavailable FROM pool_terms
        UNION ALL SELECT pool, share_unobserved FROM pool_terms
    )
    WHERE share <> 'none'
),
weighed AS (
    SELECT pool, team, 'held' AS method, CAST(ms AS DECIMAL(38, 0)) AS weight FROM held
    UNION ALL
    SELECT pool, team, 'even', CAST(1 AS DECIMAL(38, 0)) FROM (SELECT pool, team FROM held UNION SELECT pool, team FROM inside)
    UNION ALL
    SELECT pool, team, 'quota', CAST(sum(weight) AS DECIMAL(38, 0)) FROM promised GROUP BY pool, team
)
SELECT w.pool, w.method, w.team, w.weight
FROM asked a
JOIN weighed w ON w.pool = a.pool AND w.method = a.method
WHERE w.weight > 0
