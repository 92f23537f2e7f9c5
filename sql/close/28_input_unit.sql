-- What was held in a period's days, with everything about it that money looks at (see `27_input_run`).
-- grain: unit
-- inputs: usage, unit
-- parameters: from_day INT, to_day INT
-- output: input_unit
SELECT unit_id, cluster, node, model, uuid, memory_bytes, queue, interconnect
FROM unit
WHERE unit_id IN (SELECT unit_id FROM usage WHERE day >= CAST($from_day AS INT) AND day <= CAST($to_day AS INT))
ORDER BY unit_id
