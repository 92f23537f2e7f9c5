-- Ticks of MIG instances: whether the instance's own utilization was measured, so that silence there is zero.
-- grain: instance x tick. key: instance_id, boot_id, seq
-- inputs: device_minute, device
-- parameters: day_from INT, day_to INT
-- output: instance_tick
WITH instance AS (
    SELECT DISTINCT device_id FROM device WHERE parent_id IS NOT NULL
)
SELECT m.device_id AS instance_id, m.boot_id, m.seq
FROM device_minute m
JOIN instance i ON i.device_id = m.device_id
WHERE m.day >= CAST($day_from AS INT) AND m.day < CAST($day_to AS INT)
    AND m.state = 'ok' AND m.gpu_util_ppm IS NOT NULL
