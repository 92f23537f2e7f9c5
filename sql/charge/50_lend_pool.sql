-- Where what is held above a quota is charged otherwise than what is held within it: pools that are billed by quota, and pools
-- with quotas while a discount for borrowed time may apply there.
-- grain: pool x epoch. key: pool, epoch_ms
-- inputs: pool_terms, quota, discount
-- parameters: none
-- output: lend_pool
SELECT t.pool, t.epoch_ms, t.mode = 'quota' AS reserved
FROM pool_terms t
LEFT JOIN (
    SELECT DISTINCT t.pool, t.epoch_ms
    FROM pool_terms t
    JOIN quota q ON q.pool = t.pool AND q.from_ms <= t.epoch_ms AND (q.to_ms IS NULL OR q.to_ms > t.epoch_ms)
    JOIN discount d ON d.kind = 'borrowed' AND (d.pool IS NULL OR d.pool = t.pool) AND d.from_ms <= t.epoch_ms
        AND (d.to_ms IS NULL OR d.to_ms > t.epoch_ms)
) b ON b.pool = t.pool AND b.epoch_ms = t.epoch_ms
WHERE t.mode = 'quota' OR b.pool IS NOT NULL
