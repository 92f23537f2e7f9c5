-- Usage by cell with who pays for it: one row per piece and paying team, cut and split as charges are. Nobody's time has no team.
-- grain: unit x cell x holder x usage row x slice x team. units: epoch ms
-- inputs: used, owned_at, use_kind
-- parameters: none
-- output: owned
SELECT u.unit_id, u.cell, u.holder, u.from_ms, u.slice_ms, u.phase_ms, o.use_no, k.task_type, k.model, k.pool, k.tier, k.team,
    k.cost_center, o.parts, o.parts_before, u.a_ms, u.b_ms
FROM use_kind k
JOIN owned_at o ON o.use_no = k.use_no
JOIN used u ON u.unit_id = o.unit_id AND u.holder = o.holder AND u.epoch_ms = o.epoch_ms
