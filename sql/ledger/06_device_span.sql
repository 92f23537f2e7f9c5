-- When each physical GPU was known, in versions of its facts: from first seen to retired, the next version or the
-- as-of of its cluster. A GPU that only samples name is known from its host's first sample.
-- grain: device version. key: device_id, from_ms. units: epoch ms. invariants: L1
-- inputs: device, as_of, name, sample
-- parameters: none
-- output: device_span
WITH one AS (
    SELECT *,
        row_number() OVER (
            PARTITION BY device_id, first_seen_ms
            ORDER BY retired_ms NULLS LAST, node, model, memory_bytes, driver, queue, scheduler
        ) AS place
    FROM device
    WHERE parent_id IS NULL
),
version AS (
    SELECT o.*, lead(first_seen_ms) OVER (PARTITION BY device_id ORDER BY first_seen_ms) AS next_ms
    FROM one o
    WHERE place = 1
),
first_sample AS (
    SELECT cluster, node, min(stamp_ms) AS from_ms FROM sample GROUP BY cluster, node
),
span AS (
    SELECT v.device_id, v.cluster, v.node, v.model, v.memory_bytes, v.queue, v.interconnect, v.uuid, v.scheduler,
        v.minor, v.pci,
        v.first_seen_ms AS from_ms,
        -- the earliest of: retired, next version, as-of
        CASE
            WHEN v.retired_ms IS NOT NULL AND v.retired_ms < coalesce(v.next_ms, a.as_of_ms)
                AND v.retired_ms < a.as_of_ms THEN v.retired_ms
            WHEN v.next_ms IS NOT NULL AND v.next_ms < a.as_of_ms THEN v.next_ms
            ELSE a.as_of_ms
        END AS to_ms
    FROM version v
    JOIN as_of a ON a.cluster = v.cluster
    UNION ALL
    SELECT n.id, n.a, n.b, NULL, NULL, NULL, NULL, n.b || '/gpu' || n.c, 'none', NULL, NULL,
        f.from_ms, a.as_of_ms
    FROM name n
    JOIN first_sample f ON f.cluster = n.a AND f.node = n.b
    JOIN as_of a ON a.cluster = n.a
    WHERE n.kind = 'gpu'
)
SELECT * FROM span WHERE to_ms > from_ms
