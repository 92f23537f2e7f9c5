-- Who pays for what, in numbers: what each holder had on each unit in each epoch is a kind of use, in parts where teams split it.
-- grain: unit x holder x epoch x kind of use. key: unit_id, holder, epoch_ms, use_no
-- inputs: placed, use_kind
-- parameters: none
-- output: owned_at
SELECT p.unit_id, p.holder, p.epoch_ms, k.use_no, p.parts, p.parts_before
FROM use_kind k
JOIN placed p ON p.use_key = k.use_key
WHERE NOT k.reserved
