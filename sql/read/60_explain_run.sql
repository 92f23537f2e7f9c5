-- Runs that a user may mean: by raw job id (of a cluster, or of any), by pod UID, by session (with what it is unique on
-- before a colon, or without), or by allocation id.
-- grain: holder
-- inputs: run
-- parameters: cluster VARCHAR, job VARCHAR, holder BIGINT
-- output: found
SELECT holder
FROM run
WHERE ((job_raw = CAST($job AS VARCHAR)
        OR right(job_raw, length(CAST($job AS VARCHAR)) + 1) = ':' || CAST($job AS VARCHAR))
    AND (CAST($cluster AS VARCHAR) = '' OR cluster = CAST($cluster AS VARCHAR)))
    OR holder = CAST($holder AS BIGINT)
ORDER BY start_ms, holder
