-- Owner rows that can have given the charges of a line to its team: rows of the team, or with the value in its name, for an
-- account or user of the charges, or by label.
-- grain: owner row. units: parts of 10 000, epoch ms
-- inputs: bill_charge, owner
-- parameters: line_id BIGINT, team VARCHAR
-- output: line_owner
WITH who AS (
    SELECT DISTINCT account, "user" FROM bill_charge WHERE line_id = CAST($line_id AS BIGINT)
)
SELECT DISTINCT o.kind, o.cluster, o.value, o.team, o.cost_center, o.parts, o.from_ms, o.to_ms
FROM owner o
CROSS JOIN who w
WHERE (o.team = CAST($team AS VARCHAR) OR strpos(o.team, '{value}') > 0)
    AND ((o.kind = 'account' AND (o.value = w.account OR o.value = '*'))
        OR (o.kind = 'user' AND (o.value = w."user" OR o.value = '*')) OR o.kind = 'label')
ORDER BY kind, value, team, cost_center, from_ms, cluster, parts, to_ms
