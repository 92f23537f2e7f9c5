-- Slots: the parts of a local day in which nothing dated and no price changes.
-- grain: slot. key: slot_ms. units: epoch ms
-- inputs: slice
-- parameters: none
-- output: price_slot
SELECT DISTINCT slot_ms, day, month, epoch_ms, phase_ms FROM slice
