-- M4: what is unpriced, unowned, unmeasured or unobserved is a line, never a zero.
-- grain: line. units: ms
-- inputs: fact
-- parameters: none
-- output: listed
SELECT 'unpriced' AS what, model AS place, CAST(sum(unpriced_ms) AS BIGINT) AS ms FROM fact
GROUP BY model HAVING sum(unpriced_ms) > 0
UNION ALL
SELECT 'unowned', cluster || '/' || account, CAST(sum(held_ms) AS BIGINT) FROM fact
WHERE team = 'unassigned' GROUP BY cluster || '/' || account HAVING sum(held_ms) > 0
UNION ALL
SELECT 'unmeasured', cluster, CAST(sum(held_unmeasured_ms) AS BIGINT) FROM fact
GROUP BY cluster HAVING sum(held_unmeasured_ms) > 0
UNION ALL
SELECT 'unobserved', cluster, CAST(sum(unobserved_ms) AS BIGINT) FROM fact
GROUP BY cluster HAVING sum(unobserved_ms) > 0
UNION ALL
SELECT 'estimated', cluster, CAST(sum(estimated_ms) AS BIGINT) FROM fact
GROUP BY cluster HAVING sum(estimated_ms) > 0
ORDER BY what, place
