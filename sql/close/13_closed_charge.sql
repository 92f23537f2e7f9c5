-- Charges of closed periods, for a reader's own questions: those whose close is in a document.
-- grain: close x line x unit x holder x local day. units: ms, exact money
-- inputs: written_charge, known_close
-- parameters: none
-- output: closed_charge
SELECT c.*
FROM written_charge c
JOIN known_close k ON k.close_id = c.close_id
