-- What was asked for and not given, by pool and team: GPUs x the time that requests waited in the window, floored for each request
-- and divided over its owners by telescoping floor of their parts. The team is the one at the time from which a request waits.
-- grain: pool x team. units: ms of whole cards
-- inputs: asking, owner_span
-- parameters: none
-- output: unmet
WITH waited AS (
    SELECT a.pool, o.team, o.parts, o.parts_before,
        CAST((CAST(a.to_ms - a.from_ms AS DECIMAL(38, 0)) * a.units
            - (CAST(a.to_ms - a.from_ms AS DECIMAL(38, 0)) * a.units) % 72072000) / 72072000 AS BIGINT) AS card_ms
    FROM asking a
    JOIN owner_span o ON o.owner_key = a.owner_key AND o.from_ms <= a.from_ms AND o.to_ms > a.from_ms
)
SELECT pool, team, CAST(sum(card_ms * (parts_before + parts) / 10000 - card_ms * parts_before / 10000) AS BIGINT) AS unmet_ms
FROM waited
GROUP BY pool, team
