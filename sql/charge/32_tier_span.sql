-- The tier of each kind of card over time; none where no row fits.
-- grain: tier_key x interval. units: epoch ms, bytes
-- inputs: place_of, tier
-- parameters: none
-- output: tier_span
WITH card AS (
    SELECT DISTINCT tier_key, model, memory_bytes, interconnect FROM place_of
),
matched AS (
    SELECT k.tier_key, t.tier, t.from_ms, coalesce(t.to_ms, 9000000000000000) AS to_ms
    FROM card k
    JOIN tier t ON (t.model_regex IS NULL OR regexp_like(k.model, t.model_regex))
        AND (t.memory_min_bytes IS NULL OR k.memory_bytes >= t.memory_min_bytes)
        AND (t.memory_max_bytes IS NULL OR k.memory_bytes <= t.memory_max_bytes)
        AND (t.interconnect IS NULL OR t.interconnect = k.interconnect)
),
edge AS (
    SELECT tier_key, 0 AS at_ms FROM card
    UNION SELECT tier_key, 9000000000000000 FROM card
    UNION SELECT tier_key, from_ms FROM matched
    UNION SELECT tier_key, to_ms FROM matched
),
piece AS (
    SELECT tier_key, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY tier_key ORDER BY at_ms) AS to_ms FROM edge
)
SELECT p.tier_key, p.from_ms, p.to_ms, min(m.tier) AS tier
FROM piece p
LEFT JOIN matched m ON m.tier_key = p.tier_key AND m.from_ms <= p.from_ms AND m.to_ms >= p.to_ms
WHERE p.to_ms IS NOT NULL
GROUP BY p.tier_key, p.from_ms, p.to_ms
