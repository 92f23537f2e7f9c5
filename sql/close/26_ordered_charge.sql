-- Charges in key order: the order in which they are hashed and written.
-- grain: line x unit x holder x local day. units: ms, exact money
-- inputs: loose_charge
-- parameters: none
-- output: ordered_charge
SELECT *
FROM loose_charge
ORDER BY line_id, local_day, unit_id, holder
