-- The price of each kind of use over time: the most specific row valid (team, then task type, pool, model, tier). Time that
-- nobody holds has no team and no task type, and reserved capacity has no task type, so only rows without them price it. No
-- row: unpriced.
-- grain: rate_key x interval. units: price_micros per GPU-hour, epoch ms
-- inputs: use_kind, rate
-- parameters: none
-- output: rate_span
WITH asked AS (
    SELECT DISTINCT rate_key, team, task_type, pool, model, tier, nobody, reserved FROM use_kind
),
matched AS (
    SELECT k.rate_key, r.rate_id, r.price_micros, r.currency, r.from_ms, coalesce(r.to_ms, 9000000000000000) AS to_ms,
        CASE WHEN r.team IS NULL THEN 0 ELSE 16 END + CASE WHEN r.task_type IS NULL THEN 0 ELSE 8 END
            + CASE WHEN r.pool IS NULL THEN 0 ELSE 4 END + CASE WHEN r.model IS NULL THEN 0 ELSE 2 END
            + CASE WHEN r.tier IS NULL THEN 0 ELSE 1 END AS specific
    FROM asked k
    JOIN rate r ON (r.team IS NULL OR (r.team = k.team AND NOT k.nobody))
        AND (r.task_type IS NULL OR (r.task_type = k.task_type AND NOT k.nobody AND NOT k.reserved))
        AND (r.pool IS NULL OR r.pool = k.pool)
        AND (r.model IS NULL OR r.model = k.model)
        AND (r.tier IS NULL OR r.tier = k.tier)
),
edge AS (
    SELECT rate_key, 0 AS at_ms FROM asked
    UNION SELECT rate_key, 9000000000000000 FROM asked
    UNION SELECT rate_key, from_ms FROM matched
    UNION SELECT rate_key, to_ms FROM matched
),
piece AS (
    SELECT rate_key, at_ms AS from_ms, lead(at_ms) OVER (PARTITION BY rate_key ORDER BY at_ms) AS to_ms FROM edge
),
ranked AS (
    SELECT p.rate_key, p.from_ms, p.to_ms, m.rate_id, m.price_micros, m.currency,
        row_number() OVER (PARTITION BY p.rate_key, p.from_ms ORDER BY m.specific DESC NULLS LAST, m.rate_id) AS place
    FROM piece p
    LEFT JOIN matched m ON m.rate_key = p.rate_key AND m.from_ms <= p.from_ms AND m.to_ms >= p.to_ms
    WHERE p.to_ms IS NOT NULL
)
SELECT rate_key, from_ms, to_ms, rate_id, price_micros, currency FROM ranked WHERE place = 1
