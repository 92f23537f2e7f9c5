-- A run that ended in the window without doing what it was for: failed, out of memory, timed out, lost its node, or was requeued or
-- preempted and begun again. It claims nothing; the gap is the GPU time it held in the window.
-- layer: cluster. cause: run failed
-- grain: holder x claim. units: ms, epoch ms, cells, ppm; value and threshold in `unit`
-- inputs: evidence, limits
-- parameters: none
-- output: hit_failed_runs
SELECT 'failed_runs' AS rule, CASE WHEN e.state = 'NODE_FAIL' OR e.state = 'BOOT_FAIL' THEN 'node' ELSE 'cluster' END AS layer, CASE e.state WHEN 'OUT_OF_MEMORY' THEN 'out of memory' WHEN 'TIMEOUT' THEN 'timed out' WHEN 'DEADLINE' THEN 'timed out'
        WHEN 'NODE_FAIL' THEN 'node failed' WHEN 'BOOT_FAIL' THEN 'node failed' WHEN 'REQUEUED' THEN 'retried'
        WHEN 'PREEMPTED' THEN 'preempted' ELSE 'failed' END AS cause, e.holder AS holder, e.holder AS claim_holder,
    CAST(NULL AS BIGINT) AS claim_unit_id, 0 AS claim_from_cell, 0 AS claim_to_cell,
    e.from_ms AS from_ms, e.to_ms AS to_ms, e.from_ms AS first_seen_ms, e.held_ms AS gap_ms,
    CAST(e.held_ms AS BIGINT) AS value, CAST(l.failed_runs_ms AS BIGINT) AS threshold, 'ms' AS unit, 1000000 AS coverage_ppm,
    'ended ' || e.state || coalesce(', exit ' || e.exit_code, '') || coalesce(', ' || e.end_reason, '') || ', attempt ' || coalesce(CAST(e.attempt AS VARCHAR), '?')
        || ' after ' || CAST(e.run_ms / 3600000 AS VARCHAR) || '.' || CAST(e.run_ms % 3600000 / 360000 AS VARCHAR) || ' h; ' || e.held_words AS evidence,
    CASE WHEN e.state = 'OUT_OF_MEMORY' THEN 'Ask for more memory or use a smaller batch, and try one step before the long run.'
        WHEN e.state IN ('TIMEOUT', 'DEADLINE') THEN 'Write checkpoints and ask for enough time, so that a run that is cut can go on.'
        WHEN e.state IN ('NODE_FAIL', 'BOOT_FAIL', 'REQUEUED', 'PREEMPTED') THEN 'Write checkpoints often and start from the last one.'
        ELSE 'Test the job briefly on a debug queue first; stop retries that fail the same way.' END AS remedy_en,
    CASE WHEN e.state = 'OUT_OF_MEMORY' THEN '申请更多内存或减小批大小，先试跑一步再长时间运行。'
        WHEN e.state IN ('TIMEOUT', 'DEADLINE') THEN '定期保存检查点并申请足够时限，以便中断后继续。'
        WHEN e.state IN ('NODE_FAIL', 'BOOT_FAIL', 'REQUEUED', 'PREEMPTED') THEN '经常保存检查点，从最近的检查点恢复。'
        ELSE '先在调试队列短时试跑；同样失败的重试应停止。' END AS remedy_zh
FROM evidence e
JOIN limits l ON l.scope_key = e.scope_key
WHERE NOT e.open AND e.ended_inside AND e.held_ms >= l.failed_runs_ms
    AND e.state IN ('FAILED', 'OUT_OF_MEMORY', 'TIMEOUT', 'DEADLINE', 'NODE_FAIL', 'BOOT_FAIL', 'REQUEUED', 'PREEMPTED')
