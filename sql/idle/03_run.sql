-- The same as the rules of owners and pools read them (`charge/20_owner_key`, `charge/30_place`).
-- grain: holder. key: holder
-- inputs: standing
-- parameters: none
-- output: run
SELECT holder, kind, cluster, "user", account, queue, labels, task_type, model, preemptible, start_ms
FROM standing
