-- What pools and tiers look at, once per distinct set of facts of units and holders in the window.
-- grain: unit x holder. key: unit_id, holder
-- inputs: slot_use, unit, run
-- parameters: none
-- output: place_of
SELECT p.unit_id, p.holder, u.cluster, u.node, coalesce(u.model, r.model) AS model, coalesce(u.queue, r.queue) AS queue,
    u.memory_bytes, u.interconnect,
    coalesce(u.cluster, '') || chr(31) || coalesce(u.node, '') || chr(31) || coalesce(u.model, r.model, '') || chr(31)
        || coalesce(u.queue, r.queue, '') AS pool_key,
    coalesce(u.model, r.model, '') || chr(31) || coalesce(CAST(u.memory_bytes AS VARCHAR), '') || chr(31)
        || coalesce(u.interconnect, '') AS tier_key,
    coalesce(r.task_type, 'unknown') AS task_type, coalesce(r.preemptible, false) AS preemptible,
    r.kind || chr(31) || coalesce(r.cluster, '') || chr(31) || coalesce(r.account, '') || chr(31)
        || coalesce(r."user", '') || chr(31) || coalesce(r.labels, '') AS owner_key
FROM (SELECT DISTINCT unit_id, holder FROM slot_use) p
LEFT JOIN unit u ON u.unit_id = p.unit_id
LEFT JOIN run r ON r.holder = p.holder
