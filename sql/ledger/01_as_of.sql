-- What is known of a cluster at all: from the beginning of what any successful reading speaks of to the as-of, the end of
-- what the newest one speaks of. Nothing exists after it, and what was there "from the beginning" was there from `begin_ms`.
-- A series of quota and queue figures (kind `series`) speaks of no run and no device, and moves nothing here.
-- grain: cluster. key: cluster. units: epoch ms
-- inputs: reading
-- parameters: none
-- output: as_of
SELECT cluster, min(from_ms) AS begin_ms, max(to_ms) AS as_of_ms
FROM reading
WHERE ok AND kind <> 'series'
GROUP BY cluster
