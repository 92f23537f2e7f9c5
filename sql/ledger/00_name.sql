-- Natural keys that need an id: places, GPUs seen only in samples, sessions seen only in samples, and runs that processes
-- may name by Slurm's id of the run (SLUID).
-- SQL makes no hashes: the caller adds `id` = the 63-bit hash of the key (of a hint: the one that process rows carry) and
-- publishes the table `name`.
-- grain: one row per key. key: kind, a, b, c, d
-- inputs: allocation, allocation_device, job, inventory, device, sample
-- parameters: none
-- output: name
WITH place AS (
    -- '' stands for "any" in a place: (cluster, node), (cluster) and, where nothing else is known, (cluster, model)
    SELECT cluster AS a, coalesce(node, '') AS b, '' AS c FROM allocation_device WHERE device_id IS NULL
    UNION SELECT cluster, coalesce(node, ''), '' FROM inventory
    UNION SELECT cluster, node, '' FROM device
    UNION SELECT cluster, '', '' FROM allocation
    UNION SELECT cluster, '', coalesce(model, '') FROM allocation
    -- a holding's model may also be its own or the one that was asked for
    UNION SELECT cluster, '', model FROM allocation_device WHERE device_id IS NULL AND model IS NOT NULL
    UNION SELECT cluster, '', req_model FROM job WHERE req_model IS NOT NULL
    UNION SELECT cluster, '', '' FROM inventory
    UNION SELECT cluster, '', '' FROM device
),
host_mask AS (
    SELECT cluster, node, bit_or(gpu_mask) AS mask FROM sample GROUP BY cluster, node
),
host_gpu AS (
    -- every GPU a sample of the host ever named is a GPU of that host
    SELECT cluster, node, mask, unnest(range(0, 63)) AS gpu FROM host_mask WHERE mask > 0
)
SELECT 'place' AS kind, a, b, c, '' AS d FROM place
UNION ALL
SELECT 'gpu', cluster, node, CAST(gpu AS VARCHAR), '' FROM host_gpu WHERE (mask >> gpu) & 1 = 1
UNION ALL
SELECT DISTINCT 'session', cluster, node, job, "user" FROM sample WHERE gpu_mask <> 0
UNION ALL
SELECT DISTINCT 'hint', cluster, sluid, '', '' FROM allocation WHERE sluid IS NOT NULL
ORDER BY kind, a, b, c, d
