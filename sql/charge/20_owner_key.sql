-- What owner rows look at, once per distinct set of facts of the runs in the window. Foreign use is looked up as the
-- account `foreign`, and only by that name.
-- grain: set of facts. key: owner_key
-- inputs: run, present
-- parameters: none
-- output: owner_key
SELECT DISTINCT
    r.kind || chr(31) || coalesce(r.cluster, '') || chr(31) || coalesce(r.account, '') || chr(31)
        || coalesce(r."user", '') || chr(31) || coalesce(r.labels, '') AS owner_key,
    r.kind, r.cluster, CASE WHEN r.kind = 'foreign' THEN 'foreign' ELSE r.account END AS account,
    CASE WHEN r.kind <> 'foreign' THEN r."user" END AS "user", r.labels
FROM run r
JOIN present p ON p.holder = r.holder
