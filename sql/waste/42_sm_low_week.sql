-- A run whose mean use over its last seven days in the window (the threshold's days) is under the threshold: SM activity where 90 %
-- of the measured time has it, else busy time, of what it was granted. It claims its idle time of those days.
-- layer: card. cause: SM low for a week
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, holder_cell
-- parameters: from_cell BIGINT, to_cell BIGINT, from_day INT, to_day INT
-- output: hit_sm_low_week
WITH week AS (
    SELECT c.holder, CAST(sum(c.held_ms) AS BIGINT) AS held_ms, CAST(sum(c.covered_ms) AS BIGINT) AS covered_ms,
        CAST(sum(c.sm_known_ms) AS BIGINT) AS sm_known_ms, CAST(sum(c.sm_work / 1000) AS BIGINT) AS sm_work,
        CAST(sum(c.busy_ms) AS BIGINT) AS busy_ms, max(c.units) AS units, min(c.cell) AS from_cell, min(c.from_ms) AS from_ms
    FROM holder_cell c
    JOIN evidence e ON e.holder = c.holder
    JOIN limits l ON l.scope_key = e.scope_key
    WHERE c.day >= CAST($from_day AS INT) AND c.day <= CAST($to_day AS INT)
        AND c.cell >= CAST($from_cell AS BIGINT) AND c.cell < CAST($to_cell AS BIGINT)
        AND e.to_ms - e.from_ms >= l.sm_low_week_ms AND c.to_ms > e.to_ms - l.sm_low_week_ms
    GROUP BY c.holder
),
judged AS (
    SELECT *, CAST(CAST(covered_ms AS DECIMAL(38, 0)) * 1000000 / held_ms AS BIGINT) AS coverage_ppm,
        CASE WHEN sm_known_ms >= covered_ms / 10 * 9 THEN CAST(CAST(sm_work AS DECIMAL(38, 0)) * 1000 / sm_known_ms AS BIGINT)
            ELSE CAST(CAST(busy_ms AS DECIMAL(38, 0)) * 1000000 / covered_ms AS BIGINT) END * 72072000 / units AS use_ppm
    FROM week
    WHERE covered_ms > 0 AND units > 0
)
SELECT 'sm_low_week' AS rule, 'card' AS layer, 'SM low for a week' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, w.from_cell AS claim_from_cell, 9000000000 AS claim_to_cell,
    w.from_ms AS from_ms, e.to_ms AS to_ms, w.from_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(w.use_ppm AS BIGINT) AS value, CAST(l.sm_low_week_ppm AS BIGINT) AS threshold, 'ppm' AS unit, w.coverage_ppm AS coverage_ppm,
    'mean use ' || CAST(w.use_ppm / 10000 AS VARCHAR) || '.' || CAST(w.use_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ' over the last ' || CAST(l.sm_low_week_ms / 86400000 AS VARCHAR) || ' days; ' || e.held_words AS evidence,
    'Share the card: move the work to a part of a card, or put it together with others of its kind.' AS remedy_en,
    '共享 GPU：迁移到切片，或与同类任务合并部署。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN judged w ON w.holder = e.holder
WHERE w.use_ppm < l.sm_low_week_ppm AND w.coverage_ppm >= l.coverage_ppm
