-- Manual lines of a period that nobody approved.
-- grain: line. units: millionths of the currency
-- inputs: manual_line
-- parameters: period VARCHAR
-- output: close_unapproved
SELECT 'no_approver' AS kind, line AS place, amount_micros, team
FROM manual_line
WHERE period = CAST($period AS VARCHAR) AND to_ms IS NULL AND trim(approver) = ''
ORDER BY place
