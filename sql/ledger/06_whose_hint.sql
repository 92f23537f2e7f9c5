-- Whom the hint of a process row, or of a claim, may mean: runs by their job's id (Kubernetes: the pod's UID), and by
-- Slurm's own id of the run (SLUID), which cgroups carry where nobody on the node knew the job.
-- prev_end_ms: end of the runs before it with the same hint; what begins after it and reaches into this run is this run's.
-- A SLUID means one run, which has none before it.
-- grain: hint x run. key: hint_id, holder. units: epoch ms
-- inputs: scheduler_run, name
-- parameters: none
-- output: whose_hint
SELECT hint_id, holder, task_type, start_ms, end_ms, prev_end_ms
FROM scheduler_run
UNION ALL
SELECT n.id, r.holder, r.task_type, r.start_ms, r.end_ms, 0
FROM scheduler_run r
JOIN name n ON n.kind = 'hint' AND n.a = r.cluster AND n.b = r.sluid
