-- What is known of each run or session in the window: its facts, its money lines added up, and what was seen of it.
-- use_ppm is its mean use of what it was granted: SM activity where at least 90 % of the measured time has it (basis sm),
-- else busy of covered time (gpu), else the average that the source gives of the whole run (average); use_known_ppm says for
-- which part of the held time it speaks, rounded to a millionth. Means of SM, DRAM and tensor activity are of the whole card, NULL under 90 % known.
-- Team, pool, tier, model and price are those of the line with the most held time. Words are for evidence texts.
-- grain: holder. key: holder. units: ms, epoch ms, ppm, bytes, mW, share units
-- inputs: fact, run, unit, card_evidence, job_average
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: evidence
WITH line AS (
    SELECT holder, team, cost_center, pool, tier, model, currency, max(price_micros) AS price_micros,
        CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(busy_ms) AS BIGINT) AS busy_ms,
        CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms, CAST(sum(covered_ms) AS BIGINT) AS covered_ms,
        CAST(sum(judged_ms) AS BIGINT) AS judged_ms, CAST(sum(effective_ms) AS BIGINT) AS effective_ms,
        CAST(sum(over_share_ms) AS BIGINT) AS over_share_ms
    FROM fact
    WHERE holder > 0
    GROUP BY holder, team, cost_center, pool, tier, model, currency
),
ranked AS (
    SELECT *,
        row_number() OVER (PARTITION BY holder ORDER BY held_ms DESC, team, cost_center, pool, tier, model) AS place,
        sum(held_ms) OVER (PARTITION BY holder) AS all_held_ms, sum(busy_ms) OVER (PARTITION BY holder) AS all_busy_ms,
        sum(held_idle_ms) OVER (PARTITION BY holder) AS all_idle_ms, sum(covered_ms) OVER (PARTITION BY holder) AS all_covered_ms,
        sum(judged_ms) OVER (PARTITION BY holder) AS all_judged_ms,
        sum(effective_ms) OVER (PARTITION BY holder) AS all_effective_ms,
        sum(over_share_ms) OVER (PARTITION BY holder) AS all_over_ms
    FROM line
),
cards AS (
    SELECT c.holder, count(*) AS cards, count(CASE WHEN c.rest_ms < c.covered_ms THEN 1 END) AS cards_used,
        max(c.units) AS card_units, min(c.units) AS card_units_least,
        CAST(sum(c.held_ms) AS BIGINT) AS card_held_ms, CAST(sum(c.covered_ms) AS BIGINT) AS card_covered_ms,
        CAST(sum(c.rest_ms) AS BIGINT) AS rest_ms, CAST(sum(c.busy_ms) AS BIGINT) AS card_busy_ms,
        min(c.first_seen_ms) AS first_seen_ms, max(c.last_seen_ms) AS last_seen_ms,
        min(c.first_active_ms) AS first_active_ms, max(c.last_active_ms) AS last_active_ms,
        -- products are divided before they are added where several cards could make them too large
        CAST(sum(c.sm_work / 1000) AS BIGINT) AS sm_work, CAST(sum(c.sm_known_ms) AS BIGINT) AS sm_known_ms,
        CAST(sum(c.dram_work / 1000) AS BIGINT) AS dram_work, CAST(sum(c.dram_known_ms) AS BIGINT) AS dram_known_ms,
        CAST(sum(c.tensor_work / 1000) AS BIGINT) AS tensor_work, CAST(sum(c.tensor_known_ms) AS BIGINT) AS tensor_known_ms,
        CAST(sum(c.power_work / 1000) AS BIGINT) AS power_work, CAST(sum(c.power_known_ms) AS BIGINT) AS power_known_ms,
        max(c.power_limit_mw) AS power_limit_mw, max(c.peak_ppm) AS peak_ppm, max(c.sm_high_ppm) AS sm_high_ppm,
        count(c.sm_high_ppm) AS cards_sm, count(c.mem_peak_bytes) AS cards_mem,
        CAST(sum(c.mem_peak_bytes) AS BIGINT) AS mem_peak_bytes, max(c.mem_peak_bytes) AS mem_peak_card_bytes,
        CAST(sum(c.hung_ms) AS BIGINT) AS hung_ms, max(c.cpu_ms) AS cpu_ms, max(c.io_wait_ms) AS io_wait_ms,
        max(u.memory_bytes) AS card_bytes, min(u.node) AS node
    FROM card_evidence c
    JOIN unit u ON u.unit_id = c.device_id
    GROUP BY c.holder
),
average AS (
    SELECT allocation_id AS holder, value AS ppm,
        row_number() OVER (PARTITION BY allocation_id ORDER BY as_of_ms DESC, value DESC) AS place
    FROM job_average
    WHERE measure = 'gpu_util'
),
joined AS (
    SELECT l.holder, l.team, l.cost_center, l.pool, l.tier, l.model, l.currency, l.price_micros,
        CAST(l.all_held_ms AS BIGINT) AS held_ms, CAST(l.all_busy_ms AS BIGINT) AS busy_ms,
        CAST(l.all_idle_ms AS BIGINT) AS held_idle_ms, CAST(l.all_covered_ms AS BIGINT) AS covered_ms,
        CAST(l.all_judged_ms AS BIGINT) AS judged_ms, CAST(l.all_effective_ms AS BIGINT) AS effective_ms,
        CAST(l.all_over_ms AS BIGINT) AS over_share_ms, a.ppm AS average_ppm,
        CASE WHEN c.sm_known_ms > 0 AND c.sm_known_ms >= c.card_covered_ms / 10 * 9 THEN CAST(CAST(c.sm_work AS DECIMAL(38, 0)) * 1000 / c.sm_known_ms AS BIGINT) END
            AS sm_ppm,
        CASE WHEN c.dram_known_ms > 0 AND c.dram_known_ms >= c.card_covered_ms / 10 * 9
            THEN CAST(CAST(c.dram_work AS DECIMAL(38, 0)) * 1000 / c.dram_known_ms AS BIGINT) END AS dram_ppm,
        CASE WHEN c.tensor_known_ms > 0 AND c.tensor_known_ms >= c.card_covered_ms / 10 * 9
            THEN CAST(CAST(c.tensor_work AS DECIMAL(38, 0)) * 1000 / c.tensor_known_ms AS BIGINT) END AS tensor_ppm,
        CASE WHEN c.power_known_ms > 0 AND c.power_known_ms >= c.card_covered_ms / 10 * 9
            THEN CAST(CAST(c.power_work AS DECIMAL(38, 0)) * 1000 / c.power_known_ms AS BIGINT) END AS power_mw,
        coalesce(c.cards, 0) AS cards, coalesce(c.cards_used, 0) AS cards_used, c.card_units, c.card_units_least, c.card_held_ms,
        c.card_covered_ms, c.rest_ms, c.card_busy_ms, c.first_seen_ms, c.last_seen_ms, c.first_active_ms, c.last_active_ms,
        c.power_limit_mw, c.peak_ppm, CASE WHEN c.cards_sm = c.cards THEN c.sm_high_ppm END AS sm_high_ppm,
        c.cards_mem, c.mem_peak_bytes, c.mem_peak_card_bytes, c.hung_ms, c.cpu_ms, c.io_wait_ms,
        coalesce(c.card_bytes, k.memory_bytes) AS card_bytes, c.node
    FROM ranked l
    LEFT JOIN cards c ON c.holder = l.holder
    LEFT JOIN average a ON a.holder = l.holder AND a.place = 1
    LEFT JOIN (SELECT model, max(memory_bytes) AS memory_bytes FROM unit GROUP BY model) k ON k.model = l.model
    WHERE l.place = 1
),
used AS (
    SELECT *,
        CASE
            WHEN sm_ppm IS NOT NULL THEN CASE WHEN sm_ppm * 72072000 / card_units < 1000000
                THEN sm_ppm * 72072000 / card_units ELSE 1000000 END
            WHEN covered_ms > 0 THEN CAST(CAST(busy_ms AS DECIMAL(38, 0)) * 1000000 / covered_ms AS BIGINT)
            ELSE average_ppm
        END AS use_ppm,
        CASE WHEN sm_ppm IS NOT NULL THEN 'sm' WHEN covered_ms > 0 THEN 'gpu' WHEN average_ppm IS NOT NULL THEN 'average' END
            AS use_basis,
        CASE WHEN held_ms > 0 THEN CAST(CAST(covered_ms AS DECIMAL(38, 0)) * 1000000 / held_ms AS BIGINT) ELSE 0 END AS coverage_ppm
    FROM joined
)
SELECT u.*,
    CASE WHEN u.use_basis = 'average' THEN 1000000 ELSE u.coverage_ppm END AS use_known_ppm,
    r.kind, coalesce(r.cluster, '-') AS cluster, coalesce(r.cluster, '-') || '/' || coalesce(r.job_raw, '-') AS subject, r.job_raw,
    r.job_key, r.attempt, r."user", r.account, r.queue, r.qos, r.name, r.workload_kind, r.workload_name, r.task_type, r.state,
    r.exit_code, r.end_reason, r.open, r.nodes, r.start_ms, r.end_ms, r.end_ms - r.start_ms AS run_ms, r.eligible_ms, r.submit_ms,
    r.time_limit_ms, r.gpu_units, r.gpu_count, r.cpus, coalesce(r.gpu_mem_bytes, r.req_gpu_mem_bytes) AS asked_mem_bytes,
    r.gpu_mem_bytes AS granted_mem_bytes, r.image_pull_ms, r.image_ready_ms, r.container_start_ms,
    r.task_type || chr(31) || coalesce(r.queue, '') || chr(31) || u.team AS scope_key,
    r.start_ms >= CAST($from_ms AS BIGINT) AS began_inside, r.end_ms <= CAST($to_ms AS BIGINT) AS ended_inside,
    CASE WHEN r.start_ms > CAST($from_ms AS BIGINT) THEN r.start_ms ELSE CAST($from_ms AS BIGINT) END AS from_ms,
    CASE WHEN r.end_ms < CAST($to_ms AS BIGINT) THEN r.end_ms ELSE CAST($to_ms AS BIGINT) END AS to_ms,
    CAST(u.held_ms / 3600000 AS VARCHAR) || '.' || CAST(u.held_ms % 3600000 / 360000 AS VARCHAR) || ' GPU-hours held' AS held_words,
    CAST(u.use_ppm / 10000 AS VARCHAR) || '.' || CAST(u.use_ppm % 10000 / 1000 AS VARCHAR) || ' %' AS use_words,
    CAST(u.coverage_ppm / 10000 AS VARCHAR) || '.' || CAST(u.coverage_ppm % 10000 / 1000 AS VARCHAR) || ' % measured'
        AS coverage_words,
    CAST(u.mem_peak_bytes / 1073741824 AS VARCHAR) || '.' || CAST(u.mem_peak_bytes % 1073741824 / 107374183 AS VARCHAR) || ' GiB'
        AS mem_peak_words
FROM used u
JOIN run r ON r.holder = u.holder
WHERE r.kind <> 'foreign'
