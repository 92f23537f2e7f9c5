-- What of a period a close wants mended or waived by name, as far as priced facts show it. Values are exact money at the price of
-- the row; unknown where a part has no price.
-- unpriced: held time without a price. unpriced_free: nobody's time without one (the fleet's cost lacks it). unowned: time of team
-- `unassigned`. conflict: asked for and not granted. unseen: a node of which nothing at all was known.
-- coverage: more than `limit_ppm` of the capacity unmeasured or unobserved.
-- grain: kind x place. units: ms, exact money
-- inputs: fact
-- parameters: limit_ppm BIGINT
-- output: close_item
SELECT 'unpriced' AS kind, pool || '/' || model AS place, CAST(sum(unpriced_ms) AS BIGINT) AS ms,
    CAST(NULL AS DECIMAL(38, 0)) AS value
FROM fact
GROUP BY pool || '/' || model
HAVING sum(unpriced_ms) > 0
UNION ALL
SELECT 'unpriced_free', pool || '/' || model, CAST(sum(capacity_ms - held_ms) AS BIGINT), NULL
FROM fact
WHERE price_micros IS NULL
GROUP BY pool || '/' || model
HAVING sum(capacity_ms - held_ms) > 0
UNION ALL
SELECT 'unowned', cluster || '/' || account, CAST(sum(held_ms) AS BIGINT),
    CASE WHEN sum(unpriced_ms) = 0 THEN CAST(sum(held_cost) AS DECIMAL(38, 0)) END
FROM fact
WHERE team = 'unassigned'
GROUP BY cluster || '/' || account
HAVING sum(held_ms) > 0
UNION ALL
SELECT 'conflict', cluster || '/' || job, CAST(sum(conflict_ms) AS BIGINT),
    CASE WHEN count(price_micros) = count(*)
        THEN CAST(sum(CAST(conflict_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0))) AS DECIMAL(38, 0)) END
FROM fact
WHERE conflict_ms > 0
GROUP BY cluster || '/' || job
UNION ALL
SELECT 'unseen', cluster || '/' || node, CAST(sum(unobserved_ms) AS BIGINT),
    CASE WHEN count(price_micros) = count(*) THEN CAST(sum(unobserved_cost) AS DECIMAL(38, 0)) END
FROM fact
WHERE node <> '-'
GROUP BY cluster || '/' || node
HAVING sum(unobserved_ms) > 0 AND sum(unobserved_ms) = sum(capacity_ms)
UNION ALL
SELECT 'coverage', 'fleet', CAST(sum(held_unmeasured_ms + unobserved_ms) AS BIGINT),
    CASE WHEN count(price_micros) = count(*) THEN CAST(sum(
        CAST(held_unmeasured_ms + unobserved_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0))) AS DECIMAL(38, 0)) END
FROM fact
HAVING CAST(sum(held_unmeasured_ms + unobserved_ms) AS DECIMAL(38, 0)) * 1000000
    > CAST(sum(capacity_ms) AS DECIMAL(38, 0)) * CAST($limit_ppm AS BIGINT)
ORDER BY kind, place
