-- A run whose kernels occupy the SMs and neither read memory nor compute, at low power: ticks that look hung (see 52_holder_cell),
-- together for the window, in cells that follow one another on one card. Its time is busy, not idle: it claims nothing; the gap
-- is the hung time it held.
-- layer: card. cause: hung
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, holder_cell
-- parameters: from_cell BIGINT, to_cell BIGINT, from_day INT, to_day INT
-- output: hit_hung
WITH cell AS (
    SELECT holder, device_id, cell, from_ms, to_ms, hung_ms, units,
        cell - row_number() OVER (PARTITION BY holder, device_id ORDER BY cell) AS number
    FROM holder_cell
    WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT)
        AND cell >= CAST($from_cell AS BIGINT) AND cell < CAST($to_cell AS BIGINT) AND hung_ms > 0 AND holder > 0
),
spell AS (
    SELECT holder, device_id, number, min(from_ms) AS from_ms, max(to_ms) AS to_ms, CAST(sum(hung_ms) AS BIGINT) AS hung_ms,
        CAST(sum(hung_ms * units / 72072000) AS BIGINT) AS held_hung_ms
    FROM cell
    GROUP BY holder, device_id, number
)
SELECT 'hung' AS rule, 'card' AS layer, 'hung' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    s.from_ms AS from_ms, s.to_ms AS to_ms, s.from_ms AS first_seen_ms, s.held_hung_ms AS gap_ms,
    CAST(s.hung_ms AS BIGINT) AS value, CAST(l.hung_ms AS BIGINT) AS threshold, 'ms' AS unit, e.coverage_ppm AS coverage_ppm,
    'SM over 95 %, DRAM and tensor under 1 %, power under 40 % of the limit for ' || CAST(s.hung_ms / 3600000 AS VARCHAR) || '.' || CAST(s.hung_ms % 3600000 / 360000 AS VARCHAR) || ' h: looks hung' AS evidence,
    'Look at the run: a collective that waits for a lost rank, or a spinning kernel. Cancel it and start from the last checkpoint.' AS remedy_en,
    '检查该作业：可能在等待丢失的进程，或内核空转。请取消并从最近的检查点重启。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN spell s ON s.holder = e.holder
WHERE s.hung_ms >= l.hung_ms
