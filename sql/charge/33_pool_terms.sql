-- How each pool is billed in each epoch, who bears what nobody used, and what a kWh costs. A pool without terms: mode held,
-- nothing shared out. An energy price of the pool comes before the one for any pool; without one, energy has no cost.
-- grain: pool x epoch. key: pool, epoch_ms. units: millionths of the currency a kWh
-- inputs: price_slot, pool_span, quota, terms, energy_price
-- parameters: none
-- output: pool_terms
WITH named AS (
    SELECT pool FROM pool_span UNION SELECT pool FROM quota
),
epoch AS (
    SELECT DISTINCT epoch_ms FROM price_slot
),
billed AS (
    SELECT n.pool, e.epoch_ms, t.mode, t.share_unallocated, t.share_unavailable, t.share_unobserved,
        row_number() OVER (PARTITION BY n.pool, e.epoch_ms ORDER BY t.from_ms DESC NULLS LAST) AS place
    FROM named n
    CROSS JOIN epoch e
    LEFT JOIN terms t ON t.pool = n.pool AND t.from_ms <= e.epoch_ms AND (t.to_ms IS NULL OR t.to_ms > e.epoch_ms)
),
energy AS (
    SELECT n.pool, e.epoch_ms, p.kwh_micros,
        row_number() OVER (PARTITION BY n.pool, e.epoch_ms ORDER BY p.pool NULLS LAST, p.from_ms DESC) AS place
    FROM named n
    CROSS JOIN epoch e
    JOIN energy_price p ON (p.pool IS NULL OR p.pool = n.pool) AND p.from_ms <= e.epoch_ms
        AND (p.to_ms IS NULL OR p.to_ms > e.epoch_ms)
)
SELECT b.pool, b.epoch_ms, coalesce(b.mode, 'held') AS mode, coalesce(b.share_unallocated, 'none') AS share_unallocated,
    coalesce(b.share_unavailable, 'none') AS share_unavailable, coalesce(b.share_unobserved, 'none') AS share_unobserved,
    e.kwh_micros
FROM billed b
LEFT JOIN energy e ON e.pool = b.pool AND e.epoch_ms = b.epoch_ms AND e.place = 1
WHERE b.place = 1
