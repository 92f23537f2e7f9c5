-- L4: where the devices that a scheduler's record names for a run are not those on which its processes ran by their cgroup,
-- each is listed: the rule by which the record's indices are read is wrong for that node, or the run left its cards.
-- grain: run x device by evidence. units: epoch ms
-- inputs: device_mismatch, run, unit
-- parameters: none
-- output: listed
SELECT r.cluster || '/' || r.job_raw AS job, m.node, w.uuid AS by_record, s.uuid AS by_evidence,
    min(m.first_tick_ms) AS first_tick_ms
FROM device_mismatch m
JOIN run r ON r.holder = m.holder
LEFT JOIN unit w ON w.unit_id = m.record_device_id
LEFT JOIN unit s ON s.unit_id = m.device_id
GROUP BY r.cluster || '/' || r.job_raw, m.node, w.uuid, s.uuid
ORDER BY job, node, by_evidence, by_record
