-- Manual lines of a period that stand in the way of its close: nobody approved one, or it is in another currency than the bill.
-- grain: fault. units: millionths of the currency
-- inputs: manual_line
-- parameters: period VARCHAR, currency VARCHAR
-- output: close_manual
SELECT 'no_approver' AS kind, line AS place, team, currency
FROM manual_line
WHERE period = CAST($period AS VARCHAR) AND to_ms IS NULL AND trim(approver) = ''
UNION ALL
SELECT 'other_currency', line, team, currency
FROM manual_line
WHERE period = CAST($period AS VARCHAR) AND to_ms IS NULL AND currency <> CAST($currency AS VARCHAR)
ORDER BY place, kind
