-- What each job of a host used at each sample: the sum over its rows, as the samples show it.
-- grain: host x job x sample. units: ppm of a core or GPU, bytes
-- inputs: sample, stamp_group
-- parameters: none
-- output: sample_stamp
SELECT s.cluster, s.node, s.job, s."user", g.group_ms,
    CAST(sum(s.cpu_ppm) AS BIGINT) AS cpu_ppm, CAST(sum(s.mem_bytes) AS BIGINT) AS mem_bytes,
    CAST(sum(s.gpu_ppm) AS BIGINT) AS gpu_ppm, CAST(sum(s.gpu_mem_bytes) AS BIGINT) AS gpu_mem_bytes
FROM sample s
JOIN stamp_group g ON g.cluster = s.cluster AND g.node = s.node AND g.stamp_ms = s.stamp_ms
GROUP BY s.cluster, s.node, s.job, s."user", g.group_ms
