-- The time that verifying findings marked done needs: from 29 days before the first mark to the end of what is known.
-- grain: one row. units: epoch ms
-- inputs: finding_note, as_of
-- parameters: none
-- output: note_window
SELECT (SELECT min(from_ms) FROM finding_note WHERE state = 'done' AND to_ms IS NULL) - 2505600000 AS from_ms,
    (SELECT max(as_of_ms) FROM as_of) AS as_of_ms
