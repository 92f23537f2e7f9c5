-- Lines of closed periods. A row counts only through the document of its close: what a close wrote that lost a race or died on
-- the way is in no document, and nobody reads it.
-- grain: close x line. units: ms, exact money, minor units
-- inputs: written_line, known_close
-- parameters: none
-- output: closed_line
SELECT l.*
FROM written_line l
JOIN known_close k ON k.close_id = l.close_id
