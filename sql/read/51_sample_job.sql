-- Unweighted means and peaks over the samples in which a job was seen, as ceilings in percent and GiB, the way sonar's own
-- tables publish them. `at_first`, `at_last`: seen in the host's first or last sample, so it may have run before or after.
-- Rows of one job whose users differ (never seen in a sane host) stand apart.
-- grain: host x job. units: percent, GiB, epoch ms
-- inputs: sample, stamp_group, sample_stamp
-- parameters: none
-- output: sample_job
WITH host AS (
    SELECT cluster, node, min(group_ms) AS first_ms, max(group_ms) AS last_ms FROM stamp_group GROUP BY cluster, node
),
word AS (
    SELECT DISTINCT cluster, node, job, "user", command FROM sample
),
name AS (
    SELECT cluster, node, job, "user", array_to_string(array_agg(command ORDER BY command), ',') AS command
    FROM word
    GROUP BY cluster, node, job, "user"
),
total AS (
    SELECT cluster, node, job, "user", count(*) AS samples, min(group_ms) AS from_ms, max(group_ms) AS to_ms,
        CAST(sum(cpu_ppm) AS BIGINT) AS cpu_sum, max(cpu_ppm) AS cpu_max, count(cpu_ppm) AS cpu_n,
        CAST(sum(mem_bytes) AS BIGINT) AS mem_sum, max(mem_bytes) AS mem_max, count(mem_bytes) AS mem_n,
        CAST(sum(gpu_ppm) AS BIGINT) AS gpu_sum, max(gpu_ppm) AS gpu_max, count(gpu_ppm) AS gpu_n,
        CAST(sum(gpu_mem_bytes) AS BIGINT) AS gpumem_sum, max(gpu_mem_bytes) AS gpumem_max, count(gpu_mem_bytes) AS gpumem_n
    FROM sample_stamp
    GROUP BY cluster, node, job, "user"
)
SELECT t.cluster, t.node, t.job, t."user", t.samples, t.from_ms, t.to_ms,
    t.from_ms = h.first_ms AS at_first, t.to_ms = h.last_ms AS at_last,
    (t.cpu_sum + 10000 * t.cpu_n - 1) / (10000 * nullif(t.cpu_n, 0)) AS cpu_avg, (t.cpu_max + 9999) / 10000 AS cpu_peak,
    (t.mem_sum + 1073741824 * t.mem_n - 1) / (1073741824 * nullif(t.mem_n, 0)) AS mem_avg,
    (t.mem_max + 1073741823) / 1073741824 AS mem_peak,
    (t.gpu_sum + 10000 * t.gpu_n - 1) / (10000 * nullif(t.gpu_n, 0)) AS gpu_avg, (t.gpu_max + 9999) / 10000 AS gpu_peak,
    (t.gpumem_sum + 1073741824 * t.gpumem_n - 1) / (1073741824 * nullif(t.gpumem_n, 0)) AS gpumem_avg,
    (t.gpumem_max + 1073741823) / 1073741824 AS gpumem_peak,
    n.command
FROM total t
JOIN host h ON h.cluster = t.cluster AND h.node = t.node
JOIN name n ON n.cluster = t.cluster AND n.node = t.node AND n.job = t.job AND n."user" = t."user"
ORDER BY cluster, node, length(t.job), t.job, "user"
