-- Owner rows that fit each set of facts, ranked: label before account before user; an exact value before `*`; a row for
-- the cluster before one for any.
-- grain: owner_key x owner row. units: parts of 10 000, epoch ms
-- inputs: owner_key, owner
-- parameters: none
-- output: owner_match
WITH found AS (
    SELECT k.owner_key, o.kind, o.cluster, o.value, o.value AS matched, o.team, o.cost_center, o.parts, o.from_ms, o.to_ms
    FROM owner_key k
    JOIN owner o ON o.kind = 'account' AND o.value = k.account AND (o.cluster IS NULL OR o.cluster = k.cluster)
    UNION ALL
    SELECT k.owner_key, o.kind, o.cluster, o.value, k.account, o.team, o.cost_center, o.parts, o.from_ms, o.to_ms
    FROM owner_key k
    JOIN owner o ON o.kind = 'account' AND o.value = '*' AND k.account IS NOT NULL AND k.kind <> 'foreign'
        AND (o.cluster IS NULL OR o.cluster = k.cluster)
    UNION ALL
    SELECT k.owner_key, o.kind, o.cluster, o.value, o.value AS matched, o.team, o.cost_center, o.parts, o.from_ms, o.to_ms
    FROM owner_key k
    JOIN owner o ON o.kind = 'user' AND o.value = k."user" AND (o.cluster IS NULL OR o.cluster = k.cluster)
    UNION ALL
    SELECT k.owner_key, o.kind, o.cluster, o.value, k."user", o.team, o.cost_center, o.parts, o.from_ms, o.to_ms
    FROM owner_key k
    JOIN owner o ON o.kind = 'user' AND o.value = '*' AND k."user" IS NOT NULL
        AND (o.cluster IS NULL OR o.cluster = k.cluster)
    UNION ALL
    SELECT k.owner_key, o.kind, o.cluster, o.value, split_part(o.value, '=', 2), o.team, o.cost_center, o.parts,
        o.from_ms, o.to_ms
    FROM owner_key k
    JOIN owner o ON o.kind = 'label' AND (o.cluster IS NULL OR o.cluster = k.cluster)
        AND strpos(chr(10) || k.labels || chr(10), chr(10) || o.value || chr(10)) > 0
)
SELECT owner_key,
    CASE kind WHEN 'label' THEN 0 WHEN 'account' THEN 4 ELSE 8 END
        + CASE WHEN value = '*' THEN 2 ELSE 0 END + CASE WHEN cluster IS NULL THEN 1 ELSE 0 END AS rank,
    value, replace(team, '{value}', matched) AS team, cost_center, parts, from_ms,
    coalesce(to_ms, 9000000000000000) AS to_ms
FROM found
