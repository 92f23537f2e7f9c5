-- What owner rows look at, once per distinct set of facts of the requests that waited in the window; the charge's own statements
-- (21, 22) then find the team of each, as they do for runs.
-- grain: set of facts. key: owner_key
-- inputs: asking
-- parameters: none
-- output: asking_owner
SELECT DISTINCT a.owner_key, 'scheduler' AS kind, a.cluster, a.account, a."user", a.labels FROM asking a
