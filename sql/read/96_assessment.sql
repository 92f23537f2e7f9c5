-- A half-year of the fleet in a word, and what to change, from its sums. Parts are of the capacity. poor: under 30 % busy, over 20 %
-- held and not used, or over 25 % not measured or not seen; good: at least 60 % busy and at most 10 % not measured or not seen; else
-- watch. Without capacity there is no verdict. Each piece of advice has the time that it is about:
-- reclaim from 5 % held and not used; share from 2 % of requests larger than what they need; defragment from 2 % that nobody could use
-- as it lay; repair from 5 % out of order; measure from 10 % unknown; buy or do_not_buy as waste/68_advice says (out: what was waited
-- for; in: what was nobody's).
-- grain: verdict, or advice. units: ms
-- inputs: none
-- parameters: busy_ms BIGINT, idle_ms BIGINT, unmeasured_ms BIGINT, unallocated_ms BIGINT, unavailable_ms BIGINT, unobserved_ms BIGINT, share_ms BIGINT, fragment_ms BIGINT, waiting_ms BIGINT, direction VARCHAR
-- output: assessment
WITH given AS (
    SELECT CAST($busy_ms AS BIGINT) AS busy_ms, CAST($idle_ms AS BIGINT) AS idle_ms,
        CAST($unmeasured_ms AS BIGINT) + CAST($unobserved_ms AS BIGINT) AS unknown_ms, CAST($unallocated_ms AS BIGINT) AS free_ms,
        CAST($unavailable_ms AS BIGINT) AS broken_ms, CAST($share_ms AS BIGINT) AS share_ms, CAST($fragment_ms AS BIGINT) AS fragment_ms,
        CAST($waiting_ms AS BIGINT) AS waiting_ms, CAST($direction AS VARCHAR) AS direction
),
whole AS (
    SELECT *, busy_ms + idle_ms + unknown_ms + free_ms + broken_ms AS capacity_ms FROM given
),
said AS (
    SELECT 'verdict' AS what,
        CASE WHEN busy_ms * 10 < capacity_ms * 3 OR idle_ms * 5 > capacity_ms OR unknown_ms * 4 > capacity_ms THEN 'poor'
            WHEN busy_ms * 10 >= capacity_ms * 6 AND unknown_ms * 10 <= capacity_ms THEN 'good'
            ELSE 'watch' END AS word, capacity_ms AS ms
    FROM whole
    UNION ALL SELECT 'advice', 'reclaim', idle_ms FROM whole WHERE idle_ms * 20 >= capacity_ms
    UNION ALL SELECT 'advice', 'share', share_ms FROM whole WHERE share_ms * 50 >= capacity_ms
    UNION ALL SELECT 'advice', 'defragment', fragment_ms FROM whole WHERE fragment_ms * 50 >= capacity_ms
    UNION ALL SELECT 'advice', 'repair', broken_ms FROM whole WHERE broken_ms * 20 >= capacity_ms
    UNION ALL SELECT 'advice', 'measure', unknown_ms FROM whole WHERE unknown_ms * 10 >= capacity_ms
    UNION ALL SELECT 'advice', 'buy', waiting_ms FROM whole WHERE direction = 'out'
    UNION ALL SELECT 'advice', 'do_not_buy', free_ms FROM whole WHERE direction = 'in'
)
SELECT s.what, s.word, s.ms
FROM said s
CROSS JOIN whole w
WHERE w.capacity_ms > 0 AND s.ms > 0
ORDER BY s.what DESC, s.ms DESC, s.word
