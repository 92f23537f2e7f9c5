-- How much of the fleet is seen: measured part of the time that subjects hold cards, over the last quarter of an hour of each card
-- and the quarter before it; and the cards whose newest tick contradicts itself. A card's quarter ends with its newest tick, or
-- now where that is too old: then the silence counts.
-- grain: one row. units: ppm, cards
-- inputs: idle_subject, idle_card, idle_tick, idle_newest
-- parameters: at_ms BIGINT, tick_ms BIGINT
-- output: idle_seen
WITH ends AS (
    SELECT c.holder, c.device_id, s.start_ms,
        CASE WHEN n.last_ms >= CAST($at_ms AS BIGINT) - CAST($tick_ms AS BIGINT) THEN n.last_ms ELSE CAST($at_ms AS BIGINT) END
            AS end_ms
    FROM idle_card c
    JOIN idle_subject s ON s.holder = c.holder
    LEFT JOIN idle_newest n ON n.device_id = c.device_id
),
quarter AS (
    SELECT holder, device_id, start_ms, end_ms - 900000 AS from_ms, end_ms AS to_ms, 0 AS ago FROM ends
    UNION ALL
    SELECT holder, device_id, start_ms, end_ms - 1800000, end_ms - 900000, 1 FROM ends
),
held AS (
    SELECT holder, device_id, ago, to_ms, CASE WHEN from_ms > start_ms THEN from_ms ELSE start_ms END AS from_ms FROM quarter
),
measured AS (
    SELECT h.holder, h.device_id, h.ago,
        sum(CASE WHEN t.to_ms < h.to_ms THEN t.to_ms ELSE h.to_ms END
            - CASE WHEN t.from_ms > h.from_ms THEN t.from_ms ELSE h.from_ms END) AS ms
    FROM held h
    JOIN idle_tick t ON t.holder = h.holder AND t.device_id = h.device_id AND t.from_ms < h.to_ms AND t.to_ms > h.from_ms
    WHERE h.to_ms > h.from_ms AND (t.state <> 'unknown' OR t.reason = 'shared_power')
    GROUP BY h.holder, h.device_id, h.ago
),
part AS (
    SELECT h.ago, CAST(sum(h.to_ms - h.from_ms) AS BIGINT) AS held_ms, CAST(sum(coalesce(m.ms, 0)) AS BIGINT) AS ms
    FROM held h
    LEFT JOIN measured m ON m.holder = h.holder AND m.device_id = h.device_id AND m.ago = h.ago
    WHERE h.to_ms > h.from_ms
    GROUP BY h.ago
),
quarrel AS (
    SELECT t.device_id
    FROM idle_tick t
    JOIN idle_newest n ON n.device_id = t.device_id AND n.last_ms = t.to_ms
    WHERE t.state = 'quarrel'
    GROUP BY t.device_id
)
SELECT max(CASE WHEN ago = 0 THEN ms * 1000000 / held_ms END) AS coverage_ppm,
    max(CASE WHEN ago = 1 THEN ms * 1000000 / held_ms END) AS coverage_before_ppm,
    (SELECT count(*) FROM quarrel) AS disagreeing
FROM part
