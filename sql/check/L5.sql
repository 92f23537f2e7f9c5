-- L5: every held millisecond is measured (a tick) or listed as unmeasured, and what is estimated lies among the latter:
-- no time is silently bridged.
-- grain: violation. units: ms
-- inputs: usage
-- parameters: none
-- output: violation
SELECT unit_id, cell, holder, from_ms, covered_ms, busy_ms, held_idle_ms, held_unmeasured_ms, estimated_ms
FROM usage
WHERE covered_ms <> busy_ms + held_idle_ms OR estimated_ms > held_unmeasured_ms OR busy_ms < 0 OR held_idle_ms < 0
    OR held_unmeasured_ms < 0 OR unallocated_ms < 0 OR unavailable_ms < 0 OR unobserved_ms < 0
    OR effective_ms > busy_ms + held_idle_ms + held_unmeasured_ms
ORDER BY unit_id, cell, holder, from_ms
