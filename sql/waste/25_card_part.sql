-- Parts of a card that could be asked for instead of all of it: the MIG profiles of models that have them, else halves,
-- quarters and eighths. Profiles, their compute slices and memory: NVIDIA Multi-Instance GPU User Guide, supported profiles
-- (A30, A100, H100, H100 NVL, H20, H200, B200, RTX PRO 6000). Profiles of which a card has several kinds of memory stand with
-- the plain one. A card of another memory than a model's profiles are known for has the ladder.
-- grain: model x part. key: model, part. units: share units, bytes
-- inputs: unit
-- parameters: none
-- output: card_part
WITH card AS (
    SELECT model, max(memory_bytes) AS memory_bytes FROM unit WHERE model IS NOT NULL AND memory_bytes IS NOT NULL GROUP BY model
),
profile (pattern, card_gib_from, card_gib_to, part, slices, of_slices, gib) AS (
    VALUES ('%A30%', 20, 26, '1g.6gb', 1, 4, 6), ('%A30%', 20, 26, '2g.12gb', 2, 4, 12),
        ('%A100%', 36, 44, '1g.5gb', 1, 7, 5), ('%A100%', 36, 44, '2g.10gb', 2, 7, 10), ('%A100%', 36, 44, '3g.20gb', 3, 7, 20),
        ('%A100%', 36, 44, '4g.20gb', 4, 7, 20),
        ('%A100%', 76, 84, '1g.10gb', 1, 7, 10), ('%A100%', 76, 84, '2g.20gb', 2, 7, 20), ('%A100%', 76, 84, '3g.40gb', 3, 7, 40),
        ('%A100%', 76, 84, '4g.40gb', 4, 7, 40),
        ('%H100%', 76, 84, '1g.10gb', 1, 7, 10), ('%H100%', 76, 84, '2g.20gb', 2, 7, 20), ('%H100%', 76, 84, '3g.40gb', 3, 7, 40),
        ('%H100%', 76, 84, '4g.40gb', 4, 7, 40),
        ('%H100 NVL%', 90, 98, '1g.12gb', 1, 7, 12), ('%H100 NVL%', 90, 98, '2g.24gb', 2, 7, 24),
        ('%H100 NVL%', 90, 98, '3g.47gb', 3, 7, 47), ('%H100 NVL%', 90, 98, '4g.47gb', 4, 7, 47),
        ('%H20', 90, 98, '1g.12gb', 1, 7, 12), ('%H20', 90, 98, '2g.24gb', 2, 7, 24), ('%H20', 90, 98, '3g.48gb', 3, 7, 48),
        ('%H20', 90, 98, '4g.48gb', 4, 7, 48),
        ('%H200%', 136, 144, '1g.18gb', 1, 7, 18), ('%H200%', 136, 144, '2g.35gb', 2, 7, 35), ('%H200%', 136, 144, '3g.71gb', 3, 7, 71),
        ('%H200%', 136, 144, '4g.71gb', 4, 7, 71),
        ('% B200%', 172, 182, '1g.23gb', 1, 7, 23), ('% B200%', 172, 182, '2g.45gb', 2, 7, 45), ('% B200%', 172, 182, '3g.90gb', 3, 7, 90),
        ('% B200%', 172, 182, '4g.90gb', 4, 7, 90),
        ('%RTX PRO 6000%', 90, 98, '1g.24gb', 1, 4, 24), ('%RTX PRO 6000%', 90, 98, '2g.48gb', 2, 4, 48)
),
ladder (part, of_card, replicas) AS (
    VALUES ('1/2', 2, 4), ('1/4', 4, 2), ('1/8', 8, 1)
),
sliced AS (
    SELECT c.model, p.part, CAST(72072000 / p.of_slices * p.slices AS BIGINT) AS units,
        CAST(CAST(p.gib AS BIGINT) * 1000000000 AS BIGINT) AS part_bytes,
        '#SBATCH --gres=gpu:' || p.part || ':1' AS sbatch_line, 'nvidia.com/mig-' || p.part || ': 1' AS pod_line
    FROM card c
    JOIN profile p ON c.model LIKE p.pattern AND c.memory_bytes >= CAST(p.card_gib_from AS BIGINT) * 1000000000
        AND c.memory_bytes <= CAST(p.card_gib_to AS BIGINT) * 1073741824
)
SELECT model, part, units, part_bytes, sbatch_line, pod_line FROM sliced
UNION ALL
SELECT c.model, l.part, CAST(72072000 / l.of_card AS BIGINT), c.memory_bytes / l.of_card,
    '#SBATCH --gres=shard:' || CAST(l.replicas AS VARCHAR) || '  (of 8 shards a card)',
    'nvidia.com/gpu.shared: ' || CAST(l.replicas AS VARCHAR) || '  (of 8 replicas a card)'
FROM card c
CROSS JOIN ladder l
WHERE NOT EXISTS (SELECT 1 FROM profile p WHERE c.model LIKE p.pattern AND c.memory_bytes >= CAST(p.card_gib_from AS BIGINT) * 1000000000
    AND c.memory_bytes <= CAST(p.card_gib_to AS BIGINT) * 1073741824)
