-- Cost centres as they stood at an instant.
-- grain: code. units: epoch ms
-- inputs: cost_center
-- parameters: at_ms BIGINT
-- output: cost_center_at
SELECT code, name, parent
FROM cost_center
WHERE from_ms <= CAST($at_ms AS BIGINT) AND (to_ms IS NULL OR to_ms > CAST($at_ms AS BIGINT))
ORDER BY code
