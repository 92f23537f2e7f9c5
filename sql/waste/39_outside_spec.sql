-- A run that holds more than the spec of its task type recommends: another tier, more cards, more of a card, or more GPU memory.
-- The spec of the team counts, else that for any team, as it was valid at the start of the run. It claims nothing.
-- layer: governance. cause: outside the standard spec
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, spec
-- parameters: none
-- output: hit_outside_spec
WITH valid AS (
    SELECT e.holder, s.tier, s.gpu_mem_bytes, s.share_ppm, s.gpus,
        row_number() OVER (PARTITION BY e.holder ORDER BY s.team IS NULL, s.from_ms) AS place
    FROM evidence e
    JOIN spec s ON s.task_type = e.task_type AND (s.team IS NULL OR s.team = e.team)
        AND s.from_ms <= e.start_ms AND (s.to_ms IS NULL OR s.to_ms > e.start_ms)
),
judged AS (
    SELECT e.holder,
        coalesce(s.tier <> e.tier AND e.tier <> '-', false) AS other_tier,
        coalesce(e.gpu_units > s.gpus * 72072000, false) AS more_gpus,
        coalesce(e.card_units > s.share_ppm * 72072 / 1000, false) AS more_share,
        coalesce(e.asked_mem_bytes > s.gpu_mem_bytes, false) AS more_memory,
        s.tier AS spec_tier, s.gpus, s.share_ppm, s.gpu_mem_bytes
    FROM evidence e
    JOIN valid s ON s.holder = e.holder AND s.place = 1
)
SELECT 'outside_spec' AS rule, 'governance' AS layer, 'outside the standard spec' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, CAST(NULL AS BIGINT) AS gap_ms,
    CAST(CASE WHEN j.other_tier THEN 1 ELSE 0 END + CASE WHEN j.more_gpus THEN 1 ELSE 0 END
        + CASE WHEN j.more_share THEN 1 ELSE 0 END + CASE WHEN j.more_memory THEN 1 ELSE 0 END AS BIGINT) AS value, CAST(0 AS BIGINT) AS threshold, 'points' AS unit, e.coverage_ppm AS coverage_ppm,
    'for ' || e.task_type || ': '
        || CASE WHEN j.other_tier THEN 'tier ' || e.tier || ' where ' || j.spec_tier || ' is recommended; ' ELSE '' END
        || CASE WHEN j.more_gpus THEN 'more than ' || CAST(j.gpus AS VARCHAR) || ' GPUs; ' ELSE '' END
        || CASE WHEN j.more_share THEN 'more than ' || CAST(j.share_ppm / 10000 AS VARCHAR) || '.' || CAST(j.share_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ' of a card; ' ELSE '' END
        || CASE WHEN j.more_memory THEN 'more than ' || CAST(j.gpu_mem_bytes / 1073741824 AS VARCHAR) || '.' || CAST(j.gpu_mem_bytes % 1073741824 / 107374183 AS VARCHAR) || ' GiB' || ' of GPU memory; ' ELSE '' END || e.held_words AS evidence,
    'Ask for what the spec recommends, or have the team''s spec changed where the work needs more.' AS remedy_en,
    '按标准规格申请；若确有需要，请修改团队规格。' AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
JOIN judged j ON j.holder = e.holder
WHERE (j.other_tier OR j.more_gpus OR j.more_share OR j.more_memory) AND e.to_ms - e.from_ms >= l.outside_spec_ms
