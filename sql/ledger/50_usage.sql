-- Usage of devices and stand-ins together. Where nothing was measured and the source gives an average of the run,
-- effective = held x average (basis gpu); the busy classes stay unmeasured.
-- grain: unit x cell x holder x interval. key: unit_id, cell, holder, from_ms. units: ms. invariants: L1
-- inputs: usage_device, replaced, usage_stand_in, job_average
-- parameters: none
-- output: usage
WITH average AS (
    SELECT allocation_id, value AS ppm,
        row_number() OVER (PARTITION BY allocation_id ORDER BY as_of_ms DESC, value DESC) AS place
    FROM job_average
    WHERE measure = 'gpu_util'
),
both AS (
    SELECT u.device_id AS unit_id, u.cell, u.holder, u.from_ms, u.to_ms, u.busy_ms, u.held_idle_ms,
        u.held_unmeasured_ms, u.unallocated_ms, u.unavailable_ms, u.unobserved_ms, u.covered_ms, u.effective_ms,
        u.held_zero_ms, u.over_share_ms, u.conflict_ms, u.estimated_ms, u.foreign_ms, u.mem_peak_bytes, u.energy_mj,
        u.basis, false AS capacity_unknown, u.stranded_ms
    FROM usage_device u
    LEFT JOIN replaced r ON r.device_id = u.device_id AND r.cell = u.cell AND u.holder = 0
    WHERE r.device_id IS NULL
    UNION ALL
    SELECT unit_id, cell, holder, from_ms, to_ms, busy_ms, held_idle_ms, held_unmeasured_ms, unallocated_ms,
        unavailable_ms, unobserved_ms, covered_ms,
        CASE WHEN covered_ms > 0 THEN busy_ms END, 0, over_share_ms, conflict_ms, 0, 0, mem_peak_bytes, NULL,
        CASE WHEN covered_ms > 0 THEN 'gpu' END, capacity_unknown, NULL
    FROM usage_stand_in
)
SELECT CAST(b.cell / 96 AS INT) AS day, b.unit_id, b.cell, b.holder, b.from_ms, b.to_ms, b.busy_ms, b.held_idle_ms,
    b.held_unmeasured_ms, b.unallocated_ms, b.unavailable_ms, b.unobserved_ms, b.covered_ms,
    CASE WHEN b.covered_ms = 0 AND a.ppm IS NOT NULL THEN (b.held_unmeasured_ms * a.ppm + 500000) / 1000000
        ELSE b.effective_ms END AS effective_ms,
    b.held_zero_ms, b.over_share_ms, b.conflict_ms, b.estimated_ms, b.foreign_ms, b.mem_peak_bytes, b.energy_mj,
    CASE WHEN b.covered_ms = 0 AND a.ppm IS NOT NULL THEN 'gpu' ELSE b.basis END AS basis,
    b.capacity_unknown, b.stranded_ms
FROM both b
LEFT JOIN average a ON a.allocation_id = b.holder AND a.place = 1
ORDER BY day, unit_id, cell, holder, from_ms
