-- Charges of one close, in key order: the order of its hash.
-- grain: line x unit x holder x local day. units: ms, exact money
-- inputs: written_charge
-- parameters: close_id VARCHAR
-- output: charge_of_close
SELECT *
FROM written_charge
WHERE close_id = CAST($close_id AS VARCHAR)
ORDER BY line_id, local_day, unit_id, holder
