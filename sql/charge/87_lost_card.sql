-- The credit for lost cards: time in which a card had failed and a holder kept its name on it. It is unavailable, so that nobody is
-- charged for it; here stands whose it was, and what it would have cost at list price. Without a rate that is not known.
-- grain: team x cost centre x unit x holder x local day. units: ms, exact money
-- inputs: charge, tariff, run, unit
-- parameters: none
-- output: lost_card
SELECT coalesce(t.team, 'unassigned') AS team, t.cost_center, t.pool, t.model, c.local_day, c.unit_id, c.holder,
    coalesce(u.uuid, u.cluster || '/' || coalesce(u.node, '*')) AS device, u.node, r.cluster, r.job_raw AS job, r."user",
    CAST(sum(c.unavailable_ms) AS BIGINT) AS lost_ms,
    CAST(sum(CAST(c.unavailable_ms AS DECIMAL(38, 0)) * CAST(t.list_price_micros AS DECIMAL(20, 0))) AS DECIMAL(38, 0)) AS list_cost
FROM tariff t
JOIN charge c ON c.tariff_no = t.tariff_no
LEFT JOIN run r ON r.holder = c.holder
LEFT JOIN unit u ON u.unit_id = c.unit_id
WHERE c.holder <> 0 AND c.unavailable_ms > 0
GROUP BY t.team, t.cost_center, t.pool, t.model, c.local_day, c.unit_id, c.holder, u.uuid, u.cluster, u.node, r.cluster, r.job_raw, r."user"
