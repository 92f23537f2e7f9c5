-- What each pool really cost against what was billed for it. Full cost is the cost / the pool's capacity, used or not, and beside it
-- / what was held; recovery is what teams were billed less the cost. Energy is what was measured and what it costs by its price,
-- rounded half up, absent where nothing was measured or there is no price. A pool without cost rows has an unknown cost, not none.
-- grain: pool. units: minor units of the currency, ms, mJ, millionths of the currency per GPU-hour
-- inputs: cost_part, fact, bill_line
-- parameters: minor_micros BIGINT
-- output: pool_cost
WITH used AS (
    SELECT pool, CAST(sum(capacity_ms) AS DECIMAL(38, 0)) AS capacity_ms, CAST(sum(held_ms) AS DECIMAL(38, 0)) AS held_ms,
        CAST(sum(energy_mj) AS BIGINT) AS energy_mj, sum(energy_cost) AS energy_exact
    FROM fact
    GROUP BY pool
),
costs AS (
    SELECT pool, sum(CASE WHEN kind = 'depreciation' THEN cost END) AS depreciation,
        sum(CASE WHEN kind = 'power' THEN cost END) AS power, sum(CASE WHEN kind = 'operations' THEN cost END) AS operations,
        sum(CASE WHEN kind = 'other' THEN cost END) AS other, sum(cost) AS cost
    FROM cost_part
    GROUP BY pool
),
billing AS (
    SELECT pool, CAST(sum(amount_minor) AS DECIMAL(38, 0)) AS billed FROM bill_line WHERE NOT platform AND pool IS NOT NULL GROUP BY pool
),
pools AS (
    SELECT pool FROM used UNION SELECT pool FROM costs UNION SELECT pool FROM billing
),
joined AS (
    SELECT p.pool, c.depreciation, c.power, c.operations, c.other, c.cost, CAST(coalesce(b.billed, 0) AS DECIMAL(38, 0)) AS billed,
        coalesce(u.capacity_ms, 0) AS capacity_ms, coalesce(u.held_ms, 0) AS held_ms, u.energy_mj,
        CAST(u.energy_exact AS DECIMAL(38, 0)) * 2 AS energy_2,
        CAST(CAST($minor_micros AS BIGINT) AS DECIMAL(20, 0)) * 3600000000 AS energy_unit,
        CAST(c.cost AS DECIMAL(38, 0)) * CAST(CAST($minor_micros AS BIGINT) AS DECIMAL(8, 0)) * 7200000 AS hourly_2
    FROM pools p
    LEFT JOIN used u ON u.pool = p.pool
    LEFT JOIN costs c ON c.pool = p.pool
    LEFT JOIN billing b ON b.pool = p.pool
)
SELECT pool, depreciation, power, operations, other, cost, billed, CAST(billed - cost AS DECIMAL(38, 0)) AS recovery,
    CAST(capacity_ms AS BIGINT) AS capacity_ms, CAST(held_ms AS BIGINT) AS held_ms,
    CAST(CASE WHEN capacity_ms > 0 THEN ((hourly_2 + capacity_ms) - (hourly_2 + capacity_ms) % (capacity_ms * 2)) / (capacity_ms * 2) END
        AS BIGINT) AS full_cost_micros,
    CAST(CASE WHEN held_ms > 0 THEN ((hourly_2 + held_ms) - (hourly_2 + held_ms) % (held_ms * 2)) / (held_ms * 2) END AS BIGINT)
        AS held_cost_micros,
    energy_mj,
    CAST(((energy_2 + energy_unit) - (energy_2 + energy_unit) % (energy_unit * 2)) / (energy_unit * 2) AS DECIMAL(38, 0)) AS energy_cost
FROM joined
ORDER BY pool
