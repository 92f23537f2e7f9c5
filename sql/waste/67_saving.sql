-- Which changes would save most: what a rule found of a team in a queue, added up, by money, then by time; the first three.
-- idle_ms was held and not used, gap_ms was held beyond what was needed; a rule has the one or the other of a run. Each change is
-- by itself: several may speak of the same run, so that they are not added together. Not among them: what no rule explains, limits
-- (they reserve and cost nobody), and findings that were dismissed or are done. subject, remedy: of the finding that costs most.
-- cost is absent where nothing of it has a price.
-- grain: rule x team x queue. units: ms, exact money
-- inputs: finding
-- parameters: none
-- output: saving
WITH asked AS (
    SELECT rule, team, queue, subject, cause, remedy_en, idle_ms, gap_ms,
        CASE WHEN currency <> '-' THEN waste_cost + gap_cost END AS cost
    FROM finding
    WHERE rule NOT IN ('idle_other', 'limit_over_run') AND note NOT IN ('dismissed', 'done') AND idle_ms + gap_ms > 0
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY rule, team, queue ORDER BY cost DESC NULLS LAST, idle_ms + gap_ms DESC, subject) AS place
    FROM asked
),
summed AS (
    SELECT rule, team, queue, max(CASE WHEN place = 1 THEN cause END) AS cause, max(CASE WHEN place = 1 THEN subject END) AS subject,
        max(CASE WHEN place = 1 THEN remedy_en END) AS remedy, CAST(count(DISTINCT subject) AS BIGINT) AS subjects,
        CAST(sum(idle_ms) AS BIGINT) AS idle_ms, CAST(sum(gap_ms) AS BIGINT) AS gap_ms, CAST(sum(cost) AS DECIMAL(38, 0)) AS cost
    FROM ranked
    GROUP BY rule, team, queue
)
SELECT rule, team, queue, cause, subject, remedy, subjects, idle_ms, gap_ms, cost
FROM summed
ORDER BY cost DESC NULLS LAST, idle_ms + gap_ms DESC, rule, team, queue
LIMIT 3
