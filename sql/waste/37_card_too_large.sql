-- A run that would fit into a part of its card: its highest mean of SM activity in a cell and its peak of memory, each on its
-- fullest card and with the margin, are within a part (a MIG profile, or 1/2, 1/4, 1/8), none under the smallest that is cut. A run
-- at rest all the time is the business of 30. It claims nothing; the gap is what the smaller part would leave of the held time.
-- A cheaper tier is named where its cards have the memory and less than half of the SM is needed.
-- layer: card. cause: card or slice too large
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits, card_part, place_price
-- parameters: none
-- output: hit_card_too_large
WITH need AS (
    SELECT e.holder, e.model, e.card_units,
        CAST(e.sm_high_ppm * (1000000 + l.card_margin_ppm) / 1000000 AS BIGINT) AS need_ppm,
        CAST(e.mem_peak_card_bytes / 1000000 * (1000000 + l.card_margin_ppm) AS BIGINT) AS need_bytes,
        CAST(l.card_smallest_ppm * 72072 / 1000 AS BIGINT) AS least_units, e.price_micros, e.currency
    FROM evidence e
    JOIN limits l ON l.scope_key = e.scope_key
    WHERE e.cards > 0 AND e.cards_mem = e.cards_used AND e.sm_high_ppm IS NOT NULL AND e.cards_used > 0
        AND coalesce(e.cards >= e.gpu_count, true) AND e.coverage_ppm >= l.coverage_ppm
        AND e.to_ms - e.from_ms >= l.card_too_large_ms
),
fitting AS (
    SELECT n.holder, n.need_ppm, n.need_bytes, p.part, p.units, p.sbatch_line, p.pod_line,
        row_number() OVER (PARTITION BY n.holder ORDER BY p.units, p.part_bytes, p.part) AS place
    FROM need n
    JOIN card_part p ON p.model = n.model AND p.units < n.card_units AND p.units >= n.least_units
        AND p.units >= n.need_ppm * 72072 / 1000 AND p.part_bytes >= n.need_bytes
),
cheaper AS (
    SELECT n.holder, p.tier, p.model, p.price_micros, n.price_micros AS own_micros,
        row_number() OVER (PARTITION BY n.holder ORDER BY p.price_micros, p.tier, p.model) AS place
    FROM need n
    JOIN place_price p ON p.currency = n.currency AND p.price_micros < n.price_micros AND p.memory_bytes >= n.need_bytes
        AND p.model <> n.model AND n.need_ppm < 500000
)
SELECT 'card_too_large' AS rule, 'card' AS layer, 'card or slice too large' AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.first_seen_ms AS first_seen_ms, e.held_ms - CAST(CAST(e.held_ms AS DECIMAL(38, 0)) * f.units / e.card_units AS BIGINT) AS gap_ms,
    CAST(f.need_ppm AS BIGINT) AS value, CAST(CAST(f.units AS BIGINT) * 1000 / 72072 AS BIGINT) AS threshold, 'ppm' AS unit, e.coverage_ppm AS coverage_ppm,
    'highest 15 minutes ' || CAST(e.sm_high_ppm / 10000 AS VARCHAR) || '.' || CAST(e.sm_high_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ' of the SM, peak ' || CAST(e.mem_peak_card_bytes / 1073741824 AS VARCHAR) || '.' || CAST(e.mem_peak_card_bytes % 1073741824 / 107374183 AS VARCHAR) || ' GiB'
        || ' a card, with the margin ' || CAST(f.need_ppm / 10000 AS VARCHAR) || '.' || CAST(f.need_ppm % 10000 / 1000 AS VARCHAR) || ' %' || ' and ' || CAST(f.need_bytes / 1073741824 AS VARCHAR) || '.' || CAST(f.need_bytes % 1073741824 / 107374183 AS VARCHAR) || ' GiB' || ': fits ' || f.part AS evidence,
    'Ask for ' || f.part || ' instead: ' || f.sbatch_line || '  |  ' || f.pod_line
        || CASE WHEN c.tier IS NULL THEN '' ELSE '. Or tier ' || c.tier || ' (' || c.model || '), which costs '
            || CAST(c.price_micros / 10000 * 100 / (c.own_micros / 10000 + 1) AS VARCHAR) || ' % of the price' END AS remedy_en,
    '改为申请 ' || f.part || '：' || f.sbatch_line || '  |  ' || f.pod_line
        || CASE WHEN c.tier IS NULL THEN '' ELSE '。或改用档位 ' || c.tier || '（' || c.model || '），价格为现在的 '
            || CAST(c.price_micros / 10000 * 100 / (c.own_micros / 10000 + 1) AS VARCHAR) || ' %' END AS remedy_zh
FROM evidence e
JOIN fitting f ON f.holder = e.holder AND f.place = 1
LEFT JOIN cheaper c ON c.holder = e.holder AND c.place = 1
