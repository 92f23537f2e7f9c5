-- Closes that wrote rows and are in no document: they lost a race or died on the way.
-- grain: close
-- inputs: written_line, written_charge, known_close
-- parameters: none
-- output: stray
SELECT w.close_id
FROM (SELECT close_id FROM written_line UNION SELECT close_id FROM written_charge) w
LEFT JOIN known_close k ON k.close_id = w.close_id
WHERE k.close_id IS NULL
ORDER BY close_id
