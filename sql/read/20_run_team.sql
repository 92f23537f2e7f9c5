-- The team a run is counted for: at its start, the team with the greatest part (of equal parts the first name). Counts
-- cannot be split; money is, elsewhere.
-- grain: holder. key: holder
-- inputs: run, owner_span
-- parameters: none
-- output: run_team
WITH fits AS (
    SELECT r.holder, o.team, o.cost_center,
        row_number() OVER (PARTITION BY r.holder ORDER BY o.parts DESC, o.team, o.cost_center) AS place
    FROM run r
    JOIN owner_span o ON o.owner_key = r.kind || chr(31) || coalesce(r.cluster, '') || chr(31)
        || coalesce(r.account, '') || chr(31) || coalesce(r."user", '') || chr(31) || coalesce(r.labels, '')
    WHERE r.start_ms >= o.from_ms AND r.start_ms < o.to_ms
)
SELECT holder, team, cost_center FROM fits WHERE place = 1
