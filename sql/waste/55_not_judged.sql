-- Runs of the window of which too little was measured for rules that go by measurement: they have no such finding, and that
-- says nothing of how they were used.
-- grain: one row. units: ms
-- inputs: evidence, limits
-- parameters: none
-- output: not_judged
SELECT count(*) AS runs, CAST(coalesce(sum(e.held_ms), 0) AS BIGINT) AS held_ms
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE e.use_known_ppm < l.coverage_ppm AND e.held_ms > 0
