-- What a bill charges teams, by local day: use, reserved capacity and what they took over of what nobody used. Budgets that
-- begin at one instant share these rows.
-- grain: team x local day. units: exact money, ms
-- inputs: bill_line, bill_charge
-- parameters: budget_from_ms BIGINT
-- output: team_day
SELECT CAST($budget_from_ms AS BIGINT) AS budget_from_ms, l.team, c.local_day AS day,
    CAST(sum(c.exact) AS DECIMAL(38, 0)) AS exact, CAST(sum(c.held_ms) AS BIGINT) AS held_ms
FROM bill_line l
JOIN bill_charge c ON c.line_id = l.line_id
WHERE NOT l.platform
GROUP BY l.team, c.local_day
