-- Who stands in the asked window.
-- grain: holder. key: holder
-- inputs: slot_use
-- parameters: none
-- output: present
SELECT DISTINCT holder FROM slot_use
