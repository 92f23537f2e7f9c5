-- How many cards of each model and tier hold so many bytes together, for the models that are known with their memory, and how many
-- cards of it there are.
-- grain: model x memory x tier. units: bytes, cards
-- inputs: unit, inventory, tier
-- parameters: at_ms BIGINT, need_bytes BIGINT
-- output: quote_fit
WITH seen AS (
    SELECT model, memory_bytes, interconnect, 1 AS devices, 0 AS listed FROM unit
    WHERE kind = 'device' AND model IS NOT NULL AND memory_bytes > 0
    UNION ALL
    SELECT model, memory_bytes, interconnect, 0, gpus FROM inventory WHERE memory_bytes > 0 AND to_ms IS NULL
),
card AS (
    SELECT model, memory_bytes, interconnect, sum(devices) AS devices, sum(listed) AS listed
    FROM seen
    GROUP BY model, memory_bytes, interconnect
),
tiered AS (
    SELECT c.model, c.memory_bytes, c.interconnect, c.devices, c.listed, coalesce(min(t.tier), '-') AS tier
    FROM card c
    LEFT JOIN tier t ON t.from_ms <= CAST($at_ms AS BIGINT) AND (t.to_ms IS NULL OR t.to_ms > CAST($at_ms AS BIGINT))
        AND (t.model_regex IS NULL OR regexp_like(c.model, t.model_regex))
        AND (t.memory_min_bytes IS NULL OR c.memory_bytes >= t.memory_min_bytes)
        AND (t.memory_max_bytes IS NULL OR c.memory_bytes <= t.memory_max_bytes)
        AND (t.interconnect IS NULL OR t.interconnect = c.interconnect)
    GROUP BY c.model, c.memory_bytes, c.interconnect, c.devices, c.listed
),
known AS (
    SELECT model, memory_bytes, tier, sum(devices) AS devices, sum(listed) AS listed
    FROM tiered
    GROUP BY model, memory_bytes, tier
)
SELECT model, tier, memory_bytes,
    CAST((CAST($need_bytes AS BIGINT) + memory_bytes - 1) / memory_bytes AS BIGINT) AS needed,
    CAST(CASE WHEN devices > listed THEN devices ELSE listed END AS BIGINT) AS cards
FROM known
ORDER BY needed, memory_bytes, model, tier
