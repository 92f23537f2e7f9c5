-- How the GPU runs that ended in the window ended. A run put back into the queue is no ended job; a source that only says
-- that a run is over tells no outcome (`outcomes` counts the others). failed: ended by itself, its limit, its memory or its
-- node; cancelled runs are neither. Lost work: GPU time of failed and preempted runs after their last checkpoint where one is
-- known; where none is known the whole run may be lost, which stands apart as lost_at_most_unit_ms.
-- Its dimensions are those of the part of the run with the most held time.
-- grain: run. units: share units x ms
-- inputs: run_gap, run
-- parameters: from_ms BIGINT, to_ms BIGINT
-- output: run_end
WITH ended AS (
    SELECT g.pool, g.tier, g.queue, g.team, g.task_type, g.model, g.cluster, r.start_ms, r.end_ms, r.gpu_units,
        r.last_checkpoint_ms, r.state = 'COMPLETED' AS completed, r.state = 'PREEMPTED' AS preempted,
        r.state IN ('FAILED', 'TIMEOUT', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE', 'OUT_OF_MEMORY') AS failed,
        r.state = 'ENDED' AS untold
    FROM run_gap g
    JOIN run r ON r.holder = g.holder
    WHERE g.runs = 1 AND r.kind = 'scheduler' AND r.gpu_units > 0 AND NOT r.open AND r.state <> 'REQUEUED'
        AND r.end_ms >= CAST($from_ms AS BIGINT) AND r.end_ms < CAST($to_ms AS BIGINT)
)
SELECT pool, tier, queue, team, task_type, model, cluster, 1 AS ended, CASE WHEN untold THEN 0 ELSE 1 END AS outcomes,
    CASE WHEN completed THEN 1 ELSE 0 END AS completed, CASE WHEN failed THEN 1 ELSE 0 END AS failed,
    CASE WHEN preempted THEN 1 ELSE 0 END AS preempted,
    CASE WHEN (failed OR preempted) AND last_checkpoint_ms IS NOT NULL
        THEN CAST(end_ms - CASE WHEN last_checkpoint_ms > start_ms THEN last_checkpoint_ms ELSE start_ms END
            AS DECIMAL(38, 0)) * CAST(gpu_units AS DECIMAL(20, 0)) END AS lost_unit_ms,
    CASE WHEN (failed OR preempted) AND last_checkpoint_ms IS NULL
        THEN CAST(end_ms - start_ms AS DECIMAL(38, 0)) * CAST(gpu_units AS DECIMAL(20, 0)) END AS lost_at_most_unit_ms
FROM ended
