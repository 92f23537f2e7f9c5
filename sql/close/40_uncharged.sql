-- What of a period no team was charged for, and why. From lines: held time that the pool's mode does not bill (showback; idle in
-- mode busy; lent in mode quota; foreign use that nobody owns), time to settle, time of the named accounts `unassigned` and `foreign`, and what the platform
-- bears of nobody's time (`shared_out`, negative, is what teams took over of it). From facts: held time without a price (its
-- value is not known), time of a lost card whose holder keeps its name (it lies within `unavailable`), time asked for and not
-- granted, and runs without a GPU.
-- grain: why x place. units: ms, exact money at the price of the row
-- inputs: bill_line, fact, run
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: uncharged
WITH found AS (
    SELECT CASE WHEN kind <> 'unbilled_held' THEN kind WHEN mode = 'showback' THEN 'showback'
            WHEN mode = 'busy' THEN 'idle_in_busy_mode' WHEN mode = 'quota' THEN 'lent' ELSE 'foreign' END AS why,
        coalesce(pool, '-') || '/' || coalesce(model, '-') AS place, CAST(NULL AS BIGINT) AS runs, quantity_ms AS ms,
        exact AS value
    FROM bill_line
    WHERE platform AND corrects IS NULL AND kind <> 'rounding'
    UNION ALL
    SELECT CASE WHEN team = 'foreign' THEN 'foreign' ELSE 'unowned' END, coalesce(pool, '-') || '/' || coalesce(model, '-'), NULL,
        quantity_ms, exact
    FROM bill_line
    WHERE NOT platform AND corrects IS NULL AND team IN ('unassigned', 'foreign')
    UNION ALL
    SELECT 'unpriced', pool || '/' || model, NULL, unpriced_ms, NULL
    FROM fact
    WHERE unpriced_ms > 0
    UNION ALL
    SELECT 'lost_card', team || '/' || job, NULL, unavailable_ms, CAST(unavailable_cost AS DECIMAL(38, 0))
    FROM fact
    WHERE holder <> 0 AND unavailable_ms > 0
    UNION ALL
    SELECT 'not_granted', team || '/' || job, NULL, conflict_ms,
        CAST(CAST(conflict_ms AS DECIMAL(38, 0)) * CAST(price_micros AS DECIMAL(20, 0)) AS DECIMAL(38, 0))
    FROM fact
    WHERE conflict_ms > 0
    UNION ALL
    SELECT 'no_gpu', coalesce(cluster, '-'), 1, 0, CAST(0 AS DECIMAL(38, 0))
    FROM run
    WHERE kind = 'scheduler' AND gpu_count = 0 AND start_ms < CAST($to_ms AS BIGINT) AND end_ms >= CAST($from_ms AS BIGINT)
)
SELECT why, place, CAST(sum(runs) AS BIGINT) AS runs, CAST(sum(ms) AS BIGINT) AS ms,
    CASE WHEN count(value) = count(*) THEN CAST(sum(value) AS DECIMAL(38, 0)) END AS value
FROM found
GROUP BY why, place
HAVING sum(ms) <> 0 OR sum(runs) > 0
ORDER BY why, place
