-- What a run that never was would cost, by interval of one price. The run was put into `usage` as a row per cell (cut at every instant
-- at which anything about money changes), each on a unit of its own, and priced by the statements that price every run, so that
-- a quote is what the run would be charged. Rows that adjoin and are priced alike are one interval.
-- list_cost: all of its time at the rate's price; billed_cost: what the pool's mode bills of it. No price: both are absent.
-- grain: interval x price. units: epoch ms, GPU-ms, millionths of the currency per GPU-hour, exact money
-- inputs: fact, usage
-- parameters: none
-- output: quote
WITH priced AS (
    SELECT u.from_ms, u.to_ms, f.pool, f.tier, f.mode, f.borrowed, f.rate_id, f.list_price_micros, f.price_micros, f.discount,
        f.currency, CAST(sum(f.held_ms) AS BIGINT) AS held_ms,
        CAST(sum(f.held_ms) AS DECIMAL(38, 0)) * CAST(f.list_price_micros AS DECIMAL(20, 0)) AS list_cost,
        CAST(sum(f.billed_cost) AS DECIMAL(38, 0)) AS billed_cost
    FROM fact f
    JOIN usage u ON u.unit_id = f.unit_id AND u.holder = f.holder
    GROUP BY u.from_ms, u.to_ms, f.pool, f.tier, f.mode, f.borrowed, f.rate_id, f.list_price_micros, f.price_micros, f.discount,
        f.currency
    HAVING sum(f.held_ms) <> 0
),
marked AS (
    SELECT *, CASE WHEN lag(to_ms) OVER (PARTITION BY pool, tier, mode, borrowed, rate_id, price_micros, discount ORDER BY from_ms)
        = from_ms THEN 0 ELSE 1 END AS begins
    FROM priced
),
numbered AS (
    SELECT *, sum(begins) OVER (PARTITION BY pool, tier, mode, borrowed, rate_id, price_micros, discount ORDER BY from_ms
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS interval_no
    FROM marked
)
SELECT min(from_ms) AS from_ms, max(to_ms) AS to_ms, pool, tier, mode, borrowed, rate_id, list_price_micros, price_micros, discount,
    currency, CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(list_cost) AS DECIMAL(38, 0)) AS list_cost,
    CAST(sum(billed_cost) AS DECIMAL(38, 0)) AS billed_cost
FROM numbered
GROUP BY pool, tier, mode, borrowed, rate_id, list_price_micros, price_micros, discount, currency, interval_no
ORDER BY from_ms, borrowed, price_micros, rate_id
