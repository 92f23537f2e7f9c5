-- GPU memory that a model needs: an estimate from its number of parameters, P, the bits of a weight, b, and T = context x batch tokens.
-- Its shape is taken as that of a decoder whose width is 128 x its layers L: L is the greatest with 12 x L x (128 L)^2 <= P.
--   weights                 P x b / 8
--   gradients               train: P x max(b, 16) / 8
--   optimizer               train: P x 12 (a copy in 4 bytes and two moments); with 32-bit weights P x 8
--   adapters                finetune: 1 % of P with weights, gradients and optimizer, 16 bytes each; the other weights stay as they are
--   activations             train, finetune: T x width x (2 L + 34) bytes: one input a layer is kept, one layer is worked on
--   cache (key-value)       infer: T x width x 4 L bytes (16 bits, as many heads of keys as of queries: others need less)
--   reserve                 10 % of all of these
-- grain: part. units: bytes
-- inputs: none
-- parameters: params BIGINT, weight_bits INT, task VARCHAR, context BIGINT, batch BIGINT
-- output: quote_memory
WITH shape AS (
    -- no max() over no group here: the engine moves a condition on the task below it, where it has a row all the same
    SELECT CAST(value AS DECIMAL(20, 0)) AS layers
    FROM (SELECT unnest(range(1, 4001)) AS value)
    WHERE value = 1 OR 196608 * value * value * value <= CAST($params AS BIGINT)
    ORDER BY value DESC
    LIMIT 1
),
sized AS (
    SELECT layers, layers * 128 AS width, CAST(CAST($params AS BIGINT) AS DECIMAL(20, 0)) AS p, CAST($weight_bits AS INT) AS bits,
        CAST(CAST($context AS BIGINT) AS DECIMAL(20, 0)) * CAST(CAST($batch AS BIGINT) AS DECIMAL(20, 0)) AS tokens,
        CAST($task AS VARCHAR) AS task
    FROM shape
),
part AS (
    SELECT 1 AS place, 'weights' AS part, CAST(p * bits AS DECIMAL(38, 0)) AS bits_8 FROM sized
    UNION ALL
    SELECT 2, 'gradients', CAST(p * CASE WHEN bits > 16 THEN bits ELSE 16 END AS DECIMAL(38, 0)) FROM sized WHERE task = 'train'
    UNION ALL
    SELECT 3, 'optimizer', CAST(p * CASE WHEN bits = 32 THEN 64 ELSE 96 END AS DECIMAL(38, 0)) FROM sized WHERE task = 'train'
    UNION ALL
    SELECT 4, 'adapters', CAST((p - p % 100) / 100 * 128 AS DECIMAL(38, 0)) FROM sized WHERE task = 'finetune'
    UNION ALL
    SELECT 5, 'activations', CAST(tokens * width AS DECIMAL(30, 0)) * CAST((layers * 2 + 34) * 8 AS DECIMAL(8, 0)) FROM sized
    WHERE task IN ('train', 'finetune')
    UNION ALL
    SELECT 6, 'cache', CAST(tokens * width AS DECIMAL(30, 0)) * CAST(layers * 32 AS DECIMAL(8, 0)) FROM sized
    WHERE task = 'infer'
),
rounded AS (
    SELECT place, part, CAST((bits_8 - bits_8 % 8) / 8 AS DECIMAL(38, 0)) AS bytes FROM part
),
every_part AS (
    SELECT place, part, bytes FROM rounded
    UNION ALL
    SELECT 7, 'reserve', CAST((sum(bytes) - sum(bytes) % 10) / 10 AS DECIMAL(38, 0)) FROM rounded
)
SELECT place, part, CAST(bytes AS BIGINT) AS bytes FROM every_part ORDER BY place
