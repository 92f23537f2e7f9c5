-- The six classes per device: covered time split into busy and idle. Busy is what ran, at most what was granted and
-- measured, spread over the rows of a holder in the cell by telescoping floor of covered time; the surplus is
-- `over_share_ms`. Effective = work / 10^6, at most covered.
-- stranded_ms: what is unallocated of a card while somebody holds the rest of it. It is free, but only for a request that is
-- content with such a part: leftover slices, replicas and fractions.
-- The energy of a device in a cell, and foreign use on a held card, stand once, on the row of the greatest holder.
-- grain: device x cell x holder x interval. key: device_id, cell, holder, from_ms. units: ms. invariants: L1
-- inputs: part, extra, busy, estimated, tick_piece
-- parameters: none
-- output: usage_device
WITH in_cell AS (
    SELECT device_id, cell, count(*) AS parts FROM part GROUP BY device_id, cell
),
whole AS (
    SELECT p.*, c.parts,
        n1 / 72072000 + coalesce(x1, 0) AS covered_ms,
        n2 / 72072000 + coalesce(x2, 0) AS held_unmeasured_ms,
        n3 / 72072000 + coalesce(x3, 0) AS unallocated_ms,
        n4 / 72072000 + coalesce(x4, 0) AS unavailable_ms,
        n5 / 72072000 + coalesce(x5, 0) AS unobserved_ms
    FROM in_cell c
    JOIN part p ON p.device_id = c.device_id AND p.cell = c.cell
    LEFT JOIN extra x ON x.device_id = p.device_id AND x.cell = p.cell AND x.holder = p.holder AND x.from_ms = p.from_ms
),
ran AS (
    SELECT w.*, coalesce(b.busy_ms, 0) AS ran_ms
    FROM whole w
    LEFT JOIN busy b ON b.device_id = w.device_id AND b.cell = w.cell AND b.holder = w.holder AND w.holder <> 0
),
running AS (
    -- most cells are one part; only the others have an order
    SELECT *, covered_ms AS upto_ms, covered_ms AS all_ms, 1 AS place, 1 AS greatest
    FROM ran
    WHERE parts = 1
    UNION ALL
    SELECT *,
        CAST(sum(covered_ms) OVER rows_so_far AS BIGINT) AS upto_ms,
        CAST(sum(covered_ms) OVER (PARTITION BY device_id, cell, holder) AS BIGINT) AS all_ms,
        CAST(row_number() OVER rows_so_far AS BIGINT) AS place,
        CAST(row_number() OVER (PARTITION BY device_id, cell ORDER BY units DESC, holder DESC, from_ms) AS BIGINT) AS greatest
    FROM ran
    WHERE parts > 1
    WINDOW rows_so_far AS (PARTITION BY device_id, cell, holder ORDER BY from_ms)
),
spread AS (
    SELECT *,
        CASE WHEN ran_ms < all_ms THEN ran_ms ELSE all_ms END AS capped_ms,
        upto_ms - covered_ms AS before_ms
    FROM running
),
energy AS (
    SELECT device_id, cell, CAST(sum(energy_mj) AS BIGINT) AS energy_mj FROM tick_piece GROUP BY device_id, cell
),
outside AS (
    -- what foreign processes ran beyond what they were granted as foreign holders
    SELECT b.device_id, b.cell, b.busy_ms - coalesce(sum(w.covered_ms), 0) AS foreign_ms
    FROM busy b
    LEFT JOIN whole w ON w.device_id = b.device_id AND w.cell = b.cell AND w.holder = b.holder
    WHERE b.holder < 0
    GROUP BY b.device_id, b.cell, b.busy_ms
)
SELECT s.device_id, s.cell, s.holder, s.from_ms, s.to_ms,
    CASE WHEN all_ms = 0 THEN 0
        ELSE CAST(capped_ms * upto_ms / all_ms - capped_ms * before_ms / all_ms AS BIGINT) END AS busy_ms,
    CASE WHEN all_ms = 0 THEN 0
        ELSE CAST(covered_ms - (capped_ms * upto_ms / all_ms - capped_ms * before_ms / all_ms) AS BIGINT) END
        AS held_idle_ms,
    held_unmeasured_ms, unallocated_ms, unavailable_ms, unobserved_ms, covered_ms,
    CASE
        WHEN s.holder = 0 OR covered_ms = 0 OR work IS NULL THEN NULL
        WHEN (work + 500000) / 1000000 < covered_ms THEN (work + 500000) / 1000000
        ELSE covered_ms
    END AS effective_ms,
    CASE WHEN s.holder = 0 OR failed THEN 0
        WHEN units * zero_ms / 72072000 < covered_ms THEN units * zero_ms / 72072000 ELSE covered_ms END AS held_zero_ms,
    CASE WHEN s.place = 1 AND s.holder <> 0 THEN CAST(ran_ms - capped_ms AS BIGINT) ELSE 0 END AS over_share_ms,
    s.conflict_ms, coalesce(e.estimated_ms, 0) AS estimated_ms,
    CASE WHEN s.greatest = 1 AND o.foreign_ms > 0 THEN CAST(o.foreign_ms AS BIGINT) ELSE 0 END AS foreign_ms,
    s.mem_peak_bytes,
    CASE WHEN s.greatest = 1 THEN j.energy_mj END AS energy_mj,
    CASE s.basis_rank WHEN 1 THEN 'gpu' WHEN 2 THEN 'sm' WHEN 3 THEN 'sm+dram' WHEN 4 THEN 'sm+dram+tensor' END AS basis,
    s.units,
    CASE WHEN s.holder = 0 AND s.units < 72072000 THEN s.unallocated_ms ELSE 0 END AS stranded_ms
FROM spread s
LEFT JOIN estimated e ON e.device_id = s.device_id AND e.cell = s.cell AND e.holder = s.holder AND e.from_ms = s.from_ms
LEFT JOIN energy j ON j.device_id = s.device_id AND j.cell = s.cell
LEFT JOIN outside o ON o.device_id = s.device_id AND o.cell = s.cell
