-- Reserved capacity: a quota x time, used or not, of the teams of pools that are billed by quota, by local day and tariff. It counts
-- while the pool has capacity.
-- grain: kind of use x local day x tariff. units: ms
-- inputs: quota_slice, price_slot, reserve_kind, use_kind, price
-- parameters: none
-- output: reserved
SELECT q.pool, q.team, p.tariff_no, s.day AS local_day, s.month AS local_month, CAST(sum(q.quota_ms) AS BIGINT) AS quantity_ms
FROM quota_slice q
JOIN price_slot s ON s.slot_ms = q.slot_ms
JOIN reserve_kind r ON r.pool = q.pool AND r.team = q.team AND r.epoch_ms = s.epoch_ms
JOIN use_kind k ON k.use_key = r.use_key
JOIN price p ON p.use_no = k.use_no AND p.phase_ms = s.phase_ms
WHERE q.reserved AND q.quota_ms > 0 AND NOT p.borrowed
GROUP BY q.pool, q.team, p.tariff_no, s.day, s.month
