-- What the fleet did, by everything that fleet indicators are grouped by, per local week and part of the week:
-- `workday` Monday to Friday from day_from_hour to day_to_hour local time, `night` their other hours, `weekend` Saturday and
-- Sunday. Rows that a change of owner, pool or tier cuts are divided as the charge divides them (telescoping floor), so that
-- sums equal those of `report usage`. Nobody's time has the team (platform); a run's queue counts before its node's.
-- mem_byte_ms / card_byte_ms: the holder's highest memory of each cell, and the card's memory, each x held time, where both
-- are known: their quotient is the memory rate. judged_ms: held time for which effective time is known.
-- grain: pool x tier x queue x team x task type x model x cluster x week x part. units: ms, bytes x ms
-- inputs: owned_at, used, use_kind, calendar, unit, run
-- parameters: day_from_hour INT, day_to_hour INT
-- output: fleet_part
WITH placed AS (
    SELECT k.pool, coalesce(k.tier, '-') AS tier, coalesce(r.queue, n.queue, '-') AS queue,
        coalesce(k.team, '(platform)') AS team, CASE WHEN o.holder = 0 THEN '-' ELSE k.task_type END AS task_type,
        coalesce(k.model, '-') AS model, coalesce(n.cluster, r.cluster, '-') AS cluster, c.week,
        CASE WHEN NOT c.workday THEN 'weekend'
            WHEN c.hour >= CAST($day_from_hour AS INT) AND c.hour < CAST($day_to_hour AS INT) THEN 'workday'
            ELSE 'night' END AS part,
        o.parts, o.parts_before, u.a_ms - u.from_ms AS a, u.b_ms - u.from_ms AS b, u.to_ms - u.from_ms AS len,
        u.busy_ms, u.held_idle_ms, u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms, u.covered_ms,
        u.effective_ms, u.estimated_ms, u.mem_peak_bytes, n.memory_bytes
    FROM use_kind k
    JOIN owned_at o ON o.use_no = k.use_no
    JOIN used u ON u.unit_id = o.unit_id AND u.holder = o.holder AND u.epoch_ms = o.epoch_ms
    JOIN calendar c ON c.cell = u.cell
    LEFT JOIN unit n ON n.unit_id = u.unit_id
    LEFT JOIN run r ON r.holder = u.holder
),
cut AS (
    SELECT pool, tier, queue, team, task_type, model, cluster, week, part, parts, parts_before, mem_peak_bytes, memory_bytes,
        busy_ms * b / len - busy_ms * a / len AS busy_ms,
        held_idle_ms * b / len - held_idle_ms * a / len AS held_idle_ms,
        held_unmeasured_ms * b / len - held_unmeasured_ms * a / len AS held_unmeasured_ms,
        unallocated_ms * b / len - unallocated_ms * a / len AS unallocated_ms,
        unavailable_ms * b / len - unavailable_ms * a / len AS unavailable_ms,
        unobserved_ms * b / len - unobserved_ms * a / len AS unobserved_ms,
        covered_ms * b / len - covered_ms * a / len AS covered_ms,
        effective_ms * b / len - effective_ms * a / len AS effective_ms,
        estimated_ms * b / len - estimated_ms * a / len AS estimated_ms
    FROM placed
),
shared AS (
    SELECT pool, tier, queue, team, task_type, model, cluster, week, part, mem_peak_bytes, memory_bytes,
        busy_ms * (parts_before + parts) / 10000 - busy_ms * parts_before / 10000 AS busy_ms,
        held_idle_ms * (parts_before + parts) / 10000 - held_idle_ms * parts_before / 10000 AS held_idle_ms,
        held_unmeasured_ms * (parts_before + parts) / 10000 - held_unmeasured_ms * parts_before / 10000 AS held_unmeasured_ms,
        unallocated_ms, unavailable_ms, unobserved_ms,
        covered_ms * (parts_before + parts) / 10000 - covered_ms * parts_before / 10000 AS covered_ms,
        effective_ms * (parts_before + parts) / 10000 - effective_ms * parts_before / 10000 AS effective_ms,
        estimated_ms * (parts_before + parts) / 10000 - estimated_ms * parts_before / 10000 AS estimated_ms
    FROM cut
),
held AS (
    SELECT *, busy_ms + held_idle_ms + held_unmeasured_ms AS held_ms FROM shared
)
SELECT pool, tier, queue, team, task_type, model, cluster, week, part,
    CAST(sum(busy_ms) AS BIGINT) AS busy_ms, CAST(sum(held_idle_ms) AS BIGINT) AS held_idle_ms,
    CAST(sum(held_unmeasured_ms) AS BIGINT) AS held_unmeasured_ms, CAST(sum(held_ms) AS BIGINT) AS held_ms,
    CAST(sum(unallocated_ms) AS BIGINT) AS unallocated_ms, CAST(sum(unavailable_ms) AS BIGINT) AS unavailable_ms,
    CAST(sum(unobserved_ms) AS BIGINT) AS unobserved_ms, CAST(sum(covered_ms) AS BIGINT) AS covered_ms,
    CAST(sum(effective_ms) AS BIGINT) AS effective_ms, CAST(sum(estimated_ms) AS BIGINT) AS estimated_ms,
    CAST(sum(CASE WHEN effective_ms IS NOT NULL THEN held_ms END) AS BIGINT) AS judged_ms,
    CAST(sum(CASE WHEN memory_bytes IS NOT NULL
        THEN CAST(mem_peak_bytes AS DECIMAL(38, 0)) * CAST(held_ms AS DECIMAL(20, 0)) END) AS DECIMAL(38, 0)) AS mem_byte_ms,
    CAST(sum(CASE WHEN mem_peak_bytes IS NOT NULL
        THEN CAST(memory_bytes AS DECIMAL(38, 0)) * CAST(held_ms AS DECIMAL(20, 0)) END) AS DECIMAL(38, 0)) AS card_byte_ms
FROM held
GROUP BY pool, tier, queue, team, task_type, model, cluster, week, part
