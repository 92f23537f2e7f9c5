-- What each tick of a card says of who holds it, by two witnesses: the polls of its processes, and the power of the card.
-- state: `busy` where a poll saw over 1 %, or DRAM or tensor cores over 1 % (they veto); `rest` where every poll was at most 1 %
-- and the power at most the floor of the model; `quarrel` where the polls say rest and the power, or the card's own utilization,
-- says work of nobody; else `unknown`, with the reason. A holder without a process in a complete tick did nothing only if the
-- utilization was measured. Power, utilization and memory traffic are the card's: while somebody else works on it they say
-- nothing of this one, so that one witness is left. witnesses: 2; only of the past, and for advice, may 1 be enough.
-- A sample of a host is one look: where the hole since the one before it is longer than `hole_ms`, it stands for its instant alone.
-- hung: SM at least 95 %, DRAM and tensor at most 1 %, power under 40 % of the limit, all of them known.
-- grain: device x holder x tick. key: device_id, holder, to_ms. units: epoch ms, ms, ppm, mW
-- inputs: tick, holder, holder_tick, device_span, idle_floor
-- parameters: at_ms BIGINT, hole_ms BIGINT, witnesses BIGINT
-- output: idle_tick
WITH held AS (
    SELECT DISTINCT h.device_id, h.holder, h.instance_id, t.boot_id, t.from_ms, t.to_ms, t.healthy, t.state, t.util_measured,
        t.gpu_util_ppm, t.power_mw, t.power_limit_mw, f.floor_mw
    FROM holder h
    JOIN tick t ON t.device_id = h.device_id AND t.from_ms < h.to_ms AND t.to_ms > h.from_ms
    JOIN device_span d ON d.device_id = t.device_id AND d.from_ms <= t.from_ms AND d.to_ms > t.from_ms
    LEFT JOIN idle_floor f ON f.model = d.model
    WHERE h.holder > 0 AND t.to_ms <= CAST($at_ms AS BIGINT)
),
whole AS (
    -- a holder of several instances of a card is one holder of it
    SELECT device_id, holder, from_ms, max(boot_id) AS boot_id, max(to_ms) AS to_ms, bool_and(healthy) AS healthy,
        bool_and(util_measured) AS util_measured, max(gpu_util_ppm) AS gpu_util_ppm, max(power_mw) AS power_mw,
        max(power_limit_mw) AS power_limit_mw, max(floor_mw) AS floor_mw, max(instance_id) > 0 AS on_instance
    FROM held
    GROUP BY device_id, holder, from_ms
),
others AS (
    -- whether somebody else may have worked on the card: a value that is absent is no rest
    SELECT a.device_id, a.holder, a.from_ms,
        count(CASE WHEN coalesce(b.measured AND b.peak_ppm <= 10000, false) THEN NULL ELSE 1 END) AS working
    FROM whole a
    JOIN holder_tick b ON b.device_id = a.device_id AND b.tick_from_ms = a.from_ms AND b.holder <> a.holder
    GROUP BY a.device_id, a.holder, a.from_ms
),
seen AS (
    SELECT w.*, p.holder IS NOT NULL AS present, p.measured, p.peak_ppm, p.dram_ppm, p.tensor_ppm, p.sm_ppm,
        coalesce(o.working, 0) > 0 AS is_shared
    FROM whole w
    LEFT JOIN holder_tick p ON p.device_id = w.device_id AND p.holder = w.holder AND p.tick_from_ms = w.from_ms
    LEFT JOIN others o ON o.device_id = w.device_id AND o.holder = w.holder AND o.from_ms = w.from_ms
),
judged AS (
    SELECT *,
        CASE
            WHEN NOT healthy THEN 'device_not_ok'
            WHEN coalesce(peak_ppm > 10000, false) OR coalesce(dram_ppm > 10000, false)
                OR coalesce(tensor_ppm > 10000, false) THEN 'busy'
            WHEN present AND (NOT measured OR peak_ppm IS NULL) THEN 'one_witness'
            WHEN NOT present AND (on_instance OR NOT util_measured) THEN 'one_witness'
            WHEN is_shared THEN CASE WHEN CAST($witnesses AS BIGINT) >= 2 THEN 'shared_power' ELSE 'rest' END
            WHEN power_mw IS NULL OR floor_mw IS NULL THEN
                CASE
                    WHEN CAST($witnesses AS BIGINT) >= 2 THEN 'one_witness'
                    WHEN coalesce(gpu_util_ppm > 10000, false) THEN 'disagreement'
                    ELSE 'rest'
                END
            WHEN power_mw > floor_mw OR coalesce(gpu_util_ppm > 10000, false) THEN 'disagreement'
            ELSE 'rest'
        END AS word,
        boot_id = 0 AND to_ms - from_ms > CAST($hole_ms AS BIGINT) AS is_instant
    FROM seen
)
SELECT device_id, holder, CASE WHEN is_instant THEN to_ms ELSE from_ms END AS from_ms, to_ms,
    CASE word WHEN 'busy' THEN 'busy' WHEN 'rest' THEN 'rest' WHEN 'disagreement' THEN 'quarrel' ELSE 'unknown' END AS state,
    CASE WHEN word IN ('busy', 'rest') THEN NULL ELSE word END AS reason, peak_ppm, sm_ppm, power_mw, floor_mw,
    coalesce(sm_ppm >= 950000 AND dram_ppm <= 10000 AND tensor_ppm <= 10000 AND power_mw * 100 < power_limit_mw * 40, false)
        AS hung
FROM judged
