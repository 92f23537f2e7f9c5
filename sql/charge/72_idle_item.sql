-- What nobody used of pools that share it out or are billed by quota, by pool, class, local day and price, with who bears it: none
-- (the platform), even, held or quota. Reserved time
-- that nobody held is taken off nobody's part of it, in proportion where a day has several prices (largest remainder, ties by item);
-- left_ms is what may be shared out. A failed card that somebody held is part of unavailable, and nothing is taken off that.
-- grain: item. key: item_no. units: ms
-- inputs: charge, tariff, reserve_free
-- parameters: none
-- output: idle_item
WITH class (class) AS (
    VALUES ('unallocated'), ('unavailable'), ('unobserved')
),
placed AS (
    SELECT t.pool, t.tier, t.model, t.mode, t.nobody, k.class,
        CASE k.class WHEN 'unallocated' THEN t.share_unallocated WHEN 'unavailable' THEN t.share_unavailable
            ELSE t.share_unobserved END AS share,
        t.rate_id, t.list_price_micros, t.currency, c.local_day, c.local_month,
        CASE k.class WHEN 'unallocated' THEN c.unallocated_ms WHEN 'unavailable' THEN c.unavailable_ms ELSE c.unobserved_ms END AS ms
    FROM tariff t
    JOIN charge c ON c.tariff_no = t.tariff_no
    CROSS JOIN class k
),
item AS (
    SELECT pool, tier, model, mode, nobody, class, share, rate_id, list_price_micros, currency, local_day, local_month,
        CAST(sum(ms) AS BIGINT) AS ms
    FROM placed
    WHERE ms <> 0 AND (share <> 'none' OR mode = 'quota')
    GROUP BY pool, tier, model, mode, nobody, class, share, rate_id, list_price_micros, currency, local_day, local_month
),
numbered AS (
    SELECT *, CAST(row_number() OVER (ORDER BY pool, local_day, class, mode, nobody, share, tier, model, rate_id, list_price_micros, currency)
        AS BIGINT) AS item_no
    FROM item
),
taken AS (
    SELECT pool, local_day, 'unallocated' AS class, unallocated_ms AS ms FROM reserve_free
    UNION ALL SELECT pool, local_day, 'unavailable', unavailable_ms FROM reserve_free
    UNION ALL SELECT pool, local_day, 'unobserved', unobserved_ms FROM reserve_free
),
product AS (
    SELECT n.item_no, n.ms, t.ms AS all_taken, CAST(n.ms AS DECIMAL(38, 0)) * CAST(t.ms AS DECIMAL(20, 0)) AS product,
        CAST(sum(n.ms) OVER (PARTITION BY n.pool, n.local_day, n.class) AS DECIMAL(38, 0)) AS all_ms, n.pool, n.local_day, n.class
    FROM numbered n
    JOIN taken t ON t.pool = n.pool AND t.local_day = n.local_day AND t.class = n.class
    WHERE n.nobody AND n.mode = 'quota'
),
floored AS (
    SELECT item_no, all_taken, pool, local_day, class, CAST((product - product % all_ms) / all_ms AS BIGINT) AS taken_ms,
        row_number() OVER (PARTITION BY pool, local_day, class ORDER BY product % all_ms DESC, item_no) AS place
    FROM product
),
missing AS (
    SELECT pool, local_day, class, CAST(max(all_taken) - sum(taken_ms) AS BIGINT) AS left_over FROM floored GROUP BY pool, local_day, class
),
settled AS (
    SELECT f.item_no, f.taken_ms + CASE WHEN CAST(f.place AS BIGINT) <= m.left_over THEN 1 ELSE 0 END AS taken_ms
    FROM floored f
    JOIN missing m ON m.pool = f.pool AND m.local_day = f.local_day AND m.class = f.class
)
SELECT n.item_no, n.pool, n.tier, n.model, n.mode, n.class, n.share, n.rate_id, n.list_price_micros, n.currency, n.local_day,
    n.local_month, n.ms, coalesce(s.taken_ms, 0) AS taken_ms, n.ms - coalesce(s.taken_ms, 0) AS left_ms
FROM numbered n
LEFT JOIN settled s ON s.item_no = n.item_no
