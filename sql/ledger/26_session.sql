-- On a node without scheduler whoever has a process on a card holds it: from the first to the last of its adjoining
-- ticks. A hole of at most 10 minutes between two healthy ticks is bridged if the same holder stands on both sides
-- (`bridged_ms`); a healthy tick without it ends the holding. Use outside every allocation of a scheduler (holder
-- below 0) is found the same way, unbridged.
-- grain: device x holder x interval. units: epoch ms
-- inputs: tick, holder_tick, scheduler_run
-- parameters: none
-- output: session
WITH unscheduled AS (
    SELECT p.device_id, p.holder, p.tick_from_ms
    FROM holder_tick p
    LEFT JOIN scheduler_run r ON r.holder = p.holder
    WHERE r.holder IS NULL
),
healthy AS (
    -- only of the cards that somebody uses without a scheduler's word: all others have no session
    SELECT device_id, from_ms, to_ms,
        row_number() OVER (PARTITION BY device_id ORDER BY from_ms) AS place
    FROM tick
    WHERE healthy AND device_id IN (SELECT device_id FROM unscheduled)
),
present AS (
    SELECT h.device_id, p.holder, h.place, h.from_ms, h.to_ms,
        lag(h.place) OVER own AS before_place,
        lag(h.to_ms) OVER own AS before_to_ms
    FROM unscheduled p
    JOIN healthy h ON h.device_id = p.device_id AND h.from_ms = p.tick_from_ms
    WINDOW own AS (PARTITION BY h.device_id, p.holder ORDER BY h.place)
),
island AS (
    SELECT *,
        sum(CASE
            WHEN place = before_place + 1
                AND from_ms - before_to_ms <= CASE WHEN holder < 0 THEN 0 ELSE 600000 END THEN 0
            ELSE 1 END) OVER (PARTITION BY device_id, holder ORDER BY place) AS number
    FROM present
)
SELECT device_id, holder, number, min(from_ms) AS from_ms, max(to_ms) AS to_ms
FROM island
GROUP BY device_id, holder, number
