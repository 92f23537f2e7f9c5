-- Request gaps of findings with who would save them at which price: the gap of a finding is divided over the money lines of its
-- run by their held time, telescoping, so that parts add up. Of a run's gaps the greatest counts in totals (`counted`); the
-- others speak of the same time again.
-- grain: rule x holder x team x cost centre x pool x tier x model x currency. units: ms, exact money
-- inputs: hit, fact
-- parameters: none
-- output: gap_line
WITH gap AS (
    SELECT rule, rank, holder, CAST(sum(gap_ms) AS BIGINT) AS gap_ms FROM hit WHERE gap_ms > 0 GROUP BY rule, rank, holder
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY holder ORDER BY gap_ms DESC, rank) = 1 AS counted FROM gap
),
line AS (
    SELECT holder, team, cost_center, pool, tier, model, currency, price_micros, CAST(sum(held_ms) AS BIGINT) AS held_ms
    FROM fact
    WHERE holder > 0 AND held_ms > 0
    GROUP BY holder, team, cost_center, pool, tier, model, currency, price_micros
),
running AS (
    SELECT *,
        sum(held_ms) OVER (
            PARTITION BY holder ORDER BY team, cost_center, pool, tier, model, currency, price_micros
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto_ms,
        sum(held_ms) OVER (PARTITION BY holder) AS all_ms
    FROM line
),
upto AS (
    SELECT g.rule, g.rank, g.holder, g.counted, r.team, r.cost_center, r.pool, r.tier, r.model, r.currency, r.price_micros,
        CAST(g.gap_ms AS DECIMAL(38, 0)) * r.upto_ms AS upto, CAST(g.gap_ms AS DECIMAL(38, 0)) * (r.upto_ms - r.held_ms) AS before,
        r.all_ms
    FROM ranked g
    JOIN running r ON r.holder = g.holder
),
part AS (
    SELECT *, CAST((upto - upto % all_ms) / all_ms - (before - before % all_ms) / all_ms AS BIGINT) AS gap_ms FROM upto
)
SELECT rule, rank, holder, counted, team, cost_center, pool, tier, model, coalesce(currency, '-') AS currency,
    CAST(sum(gap_ms) AS BIGINT) AS gap_ms,
    CAST(sum(CAST(gap_ms AS DECIMAL(38, 0)) * CAST(coalesce(price_micros, 0) AS DECIMAL(20, 0))) AS DECIMAL(38, 0)) AS gap_cost
FROM part
GROUP BY rule, rank, holder, counted, team, cost_center, pool, tier, model, currency
