-- Runs that something else took the GPUs of in a window, by what the scheduler calls it: how many, and the work they lost, which is
-- the time since their last known checkpoint, else since their start.
-- grain: state. key: state. units: GPU-ms, epoch ms
-- inputs: run
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: preempted
WITH over AS (
    SELECT state, gpu_units, end_ms,
        CASE WHEN last_checkpoint_ms > start_ms THEN last_checkpoint_ms ELSE start_ms END AS since_ms
    FROM run
    WHERE kind = 'scheduler' AND NOT open AND state IN ('PREEMPTED', 'REQUEUED', 'NODE_FAIL') AND gpu_units > 0
        AND end_ms >= CAST($from_ms AS BIGINT) AND end_ms < CAST($to_ms AS BIGINT)
)
SELECT state, count(*) AS runs,
    CAST(sum(CASE WHEN end_ms > since_ms THEN CAST(end_ms - since_ms AS DECIMAL(38, 0)) * gpu_units / 72072000 ELSE 0 END) AS BIGINT) AS lost_gpu_ms
FROM over
GROUP BY state
ORDER BY state
