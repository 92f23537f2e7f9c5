-- The gap that the rule of each finding marked done finds of the same owner and name in the window that was judged.
-- A service's subject is its workload's name. A limit reserves time that nobody is charged for: its gap costs 0. priced: all of it
-- has a price.
-- grain: note. units: ms, exact money
-- inputs: verified, finding, run
-- parameters: none
-- output: note_gap
SELECT v.rule, v.subject, v.done_ms, CAST(sum(f.gap_ms) AS BIGINT) AS gap_ms,
    CAST(sum(CASE WHEN v.rule = 'limit_over_run' THEN CAST(0 AS DECIMAL(38, 0)) ELSE f.gap_cost END) AS DECIMAL(38, 0)) AS gap_cost,
    bool_and(v.rule = 'limit_over_run' OR f.currency <> '-') AS priced
FROM verified v
JOIN finding f ON f.rule = v.rule AND f.gap_ms > 0
JOIN run r ON r.holder = f.holder AND r.cluster = v.cluster AND coalesce(r.account, '') = coalesce(v.account, '')
    AND coalesce(r."user", '') = coalesce(v."user", '') AND coalesce(r.workload_name, r.name, '') = coalesce(v.name, '')
WHERE v.gap_known
GROUP BY v.rule, v.subject, v.done_ms
