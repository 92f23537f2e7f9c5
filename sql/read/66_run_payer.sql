-- Whose a run is: the teams that pay for it, and its user; a run that held nothing has no team.
-- grain: holder x team
-- inputs: run, fact
-- parameters: holder BIGINT
-- output: payer
SELECT DISTINCT r.holder, coalesce(f.team, '-') AS team, coalesce(r."user", '-') AS "user"
FROM run r
LEFT JOIN fact f ON f.holder = r.holder
WHERE r.holder = CAST($holder AS BIGINT)
ORDER BY team
