-- What unnamed holders get of their place's capacity: held = GPUs x overlap. Floored milliseconds that parts of cards leave
-- over in a (place, cell) go to the largest remainders, ties by holder, from. In order of later start, id, each gets its
-- time or what is left (what is not granted is `conflict_ms`). Where capacity is unknown everything is granted.
-- covered = floor(held x healthy / capacity). busy: what the run's processes ran, in the cell, on devices that it does not
-- hold by name there.
-- grain: place x cell x holder x interval. units: ms. invariants: L4
-- inputs: stand_in, capacity, busy, device_span, slot
-- parameters: none
-- output: stand_in_grant
WITH named AS (
    SELECT DISTINCT holder, device_id, cell FROM slot WHERE holder > 0
),
ran AS (
    -- process time of a run on devices that it does not hold by name, by node
    SELECT b.holder, b.cell, d.cluster, d.node, CAST(sum(b.busy_ms) AS BIGINT) AS busy_ms,
        max(b.mem_peak_bytes) AS mem_peak_bytes
    FROM busy b
    JOIN (SELECT DISTINCT device_id, cluster, node FROM device_span) d ON d.device_id = b.device_id
    LEFT JOIN named n ON n.holder = b.holder AND n.device_id = b.device_id AND n.cell = b.cell
    WHERE b.holder > 0 AND n.holder IS NULL
    GROUP BY b.holder, b.cell, d.cluster, d.node
),
held AS (
    SELECT cluster, cell, place_node, place_model, known, holder, start_ms, from_ms, to_ms,
        min(model) AS model,
        CAST(sum(share_units * (to_ms - from_ms)) AS BIGINT) AS unit_ms
    FROM stand_in
    GROUP BY cluster, cell, place_node, place_model, known, holder, start_ms, from_ms, to_ms
),
settled AS (
    SELECT *,
        unit_ms / 72072000 + CASE WHEN row_number() OVER (
                PARTITION BY cluster, cell, place_node, place_model, known
                ORDER BY unit_ms % 72072000 DESC, holder, from_ms, to_ms)
            <= CAST(sum(unit_ms % 72072000) OVER (PARTITION BY cluster, cell, place_node, place_model, known) AS BIGINT) / 72072000
            THEN 1 ELSE 0 END AS held_ms
    FROM held
),
served AS (
    SELECT h.*, c.capacity_ms, c.healthy_ms,
        c.capacity_ms - coalesce(sum(h.held_ms) OVER (
            PARTITION BY h.cluster, h.cell, h.place_node, h.place_model, h.known
            ORDER BY h.start_ms DESC, h.holder, h.from_ms, h.to_ms
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS left_ms
    FROM settled h
    LEFT JOIN capacity c ON h.known AND c.cluster = h.cluster AND c.place_node = h.place_node AND c.cell = h.cell
),
granted AS (
    SELECT *,
        CASE
            WHEN NOT known THEN held_ms
            WHEN left_ms IS NULL OR left_ms <= 0 THEN 0
            WHEN held_ms < left_ms THEN held_ms
            ELSE left_ms
        END AS granted_ms
    FROM served
),
measured AS (
    SELECT *,
        CASE WHEN known AND capacity_ms > 0
            THEN CAST(CAST(granted_ms AS DECIMAL(38, 0)) * healthy_ms
                - (CAST(granted_ms AS DECIMAL(38, 0)) * healthy_ms) % capacity_ms AS DECIMAL(38, 0)) / capacity_ms
            ELSE 0 END AS covered
    FROM granted
),
ran_at AS (
    -- a holder of a node is measured on that node, one of a cluster anywhere in it
    SELECT m.cluster, m.cell, m.place_node, m.place_model, m.holder, CAST(sum(r.busy_ms) AS BIGINT) AS busy_ms,
        max(r.mem_peak_bytes) AS mem_peak_bytes
    FROM (SELECT DISTINCT cluster, cell, place_node, place_model, holder FROM measured WHERE known) m
    JOIN ran r ON r.holder = m.holder AND r.cell = m.cell AND r.cluster = m.cluster
        AND (m.place_node = '' OR m.place_node = r.node)
    GROUP BY m.cluster, m.cell, m.place_node, m.place_model, m.holder
),
running AS (
    SELECT m.cluster, m.cell, m.place_node, m.place_model, m.known, m.holder, m.model, m.from_ms, m.to_ms,
        m.held_ms, m.granted_ms, CAST(m.covered AS BIGINT) AS covered_ms,
        coalesce(r.busy_ms, 0) AS ran_ms, r.mem_peak_bytes,
        CAST(sum(CAST(m.covered AS BIGINT)) OVER rows_so_far AS BIGINT) AS upto_ms,
        CAST(sum(CAST(m.covered AS BIGINT)) OVER (
            PARTITION BY m.cluster, m.cell, m.place_node, m.place_model, m.known, m.holder) AS BIGINT) AS all_ms,
        row_number() OVER rows_so_far AS place
    FROM measured m
    LEFT JOIN ran_at r ON m.known AND r.cluster = m.cluster AND r.cell = m.cell AND r.place_node = m.place_node
        AND r.place_model = m.place_model AND r.holder = m.holder
    WINDOW rows_so_far AS (PARTITION BY m.cluster, m.cell, m.place_node, m.place_model, m.known, m.holder ORDER BY m.from_ms)
),
spread AS (
    SELECT *, CASE WHEN ran_ms < all_ms THEN ran_ms ELSE all_ms END AS capped_ms, upto_ms - covered_ms AS before_ms
    FROM running
)
SELECT cluster, cell, place_node, place_model, known, holder, model, from_ms, to_ms, granted_ms, covered_ms,
    held_ms - granted_ms AS conflict_ms, mem_peak_bytes,
    -- a run of thousands of cards: ms x ms is beyond 64 bits
    CASE WHEN all_ms = 0 THEN 0 ELSE
        CAST((CAST(capped_ms AS DECIMAL(38, 0)) * upto_ms - (CAST(capped_ms AS DECIMAL(38, 0)) * upto_ms) % all_ms) / all_ms AS BIGINT)
        - CAST((CAST(capped_ms AS DECIMAL(38, 0)) * before_ms - (CAST(capped_ms AS DECIMAL(38, 0)) * before_ms) % all_ms) / all_ms
            AS BIGINT) END AS busy_ms,
    CASE WHEN place = 1 THEN ran_ms - capped_ms ELSE 0 END AS over_share_ms
FROM spread
