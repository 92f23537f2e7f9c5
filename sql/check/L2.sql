-- L2: what teams, accounts, nodes and devices sum to is what usage has, class by class, per unit and holder. Nothing was
-- lost or doubled on the way from usage through owners, pools, tiers and rates. The window of the charges is all there is.
-- grain: violation. units: ms
-- inputs: usage, charge
-- parameters: none
-- output: violation
WITH before AS (
    SELECT unit_id, holder, CAST(sum((busy_ms + held_idle_ms + held_unmeasured_ms)) AS BIGINT) AS held_ms,
        CAST(sum(unallocated_ms + unavailable_ms + unobserved_ms) AS BIGINT) AS nobody_ms
    FROM usage
    GROUP BY unit_id, holder
),
after AS (
    SELECT unit_id, holder, CAST(sum(held_ms) AS BIGINT) AS held_ms,
        CAST(sum(unallocated_ms + unavailable_ms + unobserved_ms) AS BIGINT) AS nobody_ms
    FROM charge
    GROUP BY unit_id, holder
)
SELECT coalesce(b.unit_id, a.unit_id) AS unit_id, coalesce(b.holder, a.holder) AS holder, b.held_ms, a.held_ms AS charged_ms
FROM before b
FULL JOIN after a ON a.unit_id = b.unit_id AND a.holder = b.holder
WHERE (b.held_ms IS DISTINCT FROM a.held_ms) OR (b.nobody_ms IS DISTINCT FROM a.nobody_ms)
ORDER BY unit_id, holder
