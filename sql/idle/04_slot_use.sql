-- The same in the shape in which prices look at who stands where (`charge/11_present`, `charge/30_place`): pools and owners are
-- found by those rules alone. 0: no card is known by name.
-- grain: unit x holder. key: unit_id, holder
-- inputs: standing, idle_card
-- parameters: none
-- output: slot_use
SELECT device_id AS unit_id, holder FROM idle_card
UNION ALL
SELECT CAST(0 AS BIGINT), r.holder
FROM standing r
LEFT JOIN idle_card c ON c.holder = r.holder
WHERE c.holder IS NULL
