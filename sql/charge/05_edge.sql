-- Instants inside the asked window at which anything dated about money begins or ends. Between two of them every owner, pool,
-- tier, price, discount, term, quota and energy price stays what it is; each cuts every usage row in which it lies, so that
-- teams that split a row divide the same pieces of it.
-- grain: instant. key: at_ms. units: epoch ms
-- inputs: owner, pool, tier, rate, discount, terms, quota, energy_price
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: edge
WITH dated AS (
    SELECT from_ms AS at_ms FROM owner UNION ALL SELECT to_ms FROM owner
    UNION ALL SELECT from_ms FROM pool UNION ALL SELECT to_ms FROM pool
    UNION ALL SELECT from_ms FROM tier UNION ALL SELECT to_ms FROM tier
    UNION ALL SELECT from_ms FROM rate UNION ALL SELECT to_ms FROM rate
    UNION ALL SELECT from_ms FROM discount UNION ALL SELECT to_ms FROM discount
    UNION ALL SELECT from_ms FROM terms UNION ALL SELECT to_ms FROM terms
    UNION ALL SELECT from_ms FROM quota UNION ALL SELECT to_ms FROM quota
    UNION ALL SELECT from_ms FROM energy_price UNION ALL SELECT to_ms FROM energy_price
)
SELECT DISTINCT at_ms
FROM dated
WHERE at_ms > CAST($from_ms AS BIGINT) AND at_ms < CAST($to_ms AS BIGINT)
