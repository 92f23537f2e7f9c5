-- Who gets how much of the card in each interval: holders in order of evidence, later start, id; each gets its share or
-- what is left. Several instances of one card held by one run are one holding; one that was named twice counts once.
-- Sessions of a host share equally (the first ones get the odd units). Foreign use gets the card only
-- where nobody holds any of it. What is not granted is `over_units`: it never lowers another holder.
-- grain: device x interval x holder. key: device_id, from_ms, holder. units: share units. invariants: L4
-- inputs: interval_fact, holder
-- parameters: none
-- output: granted
WITH instance AS (
    SELECT i.device_id, i.from_ms, i.to_ms, i.failed, h.holder, h.kind, h.evidence_rank, h.start_ms,
        max(h.share_units) AS share_units
    FROM interval_fact i
    JOIN holder h ON h.device_id = i.device_id AND h.from_ms <= i.from_ms AND h.to_ms >= i.to_ms
    GROUP BY i.device_id, i.from_ms, i.to_ms, i.failed, h.holder, h.kind, h.evidence_rank, h.start_ms, h.instance_id
),
at AS (
    SELECT device_id, from_ms, to_ms, failed, holder, kind, evidence_rank, start_ms,
        CAST(sum(share_units) AS BIGINT) AS share_units
    FROM instance
    GROUP BY device_id, from_ms, to_ms, failed, holder, kind, evidence_rank, start_ms
),
shared AS (
    SELECT *,
        count(*) OVER (PARTITION BY device_id, from_ms, kind) AS of_kind,
        row_number() OVER (PARTITION BY device_id, from_ms, kind ORDER BY start_ms DESC, holder) AS place,
        count(CASE WHEN kind < 3 THEN 1 END) OVER (PARTITION BY device_id, from_ms) AS holders
    FROM at
),
asked AS (
    SELECT device_id, from_ms, to_ms, failed, holder, kind, evidence_rank, start_ms,
        CASE
            WHEN kind = 2 THEN 72072000 / of_kind + CASE WHEN place <= 72072000 % of_kind THEN 1 ELSE 0 END
            WHEN kind = 3 AND holders > 0 THEN 0
            ELSE share_units
        END AS share_units
    FROM shared
),
served AS (
    SELECT *,
        72072000 - coalesce(sum(share_units) OVER (
            PARTITION BY device_id, from_ms ORDER BY evidence_rank, start_ms DESC, holder
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS left_units
    FROM asked
)
SELECT device_id, from_ms, to_ms, failed, holder, kind,
    CASE WHEN left_units <= 0 THEN 0 WHEN share_units < left_units THEN share_units ELSE left_units END AS units,
    share_units - CASE WHEN left_units <= 0 THEN 0 WHEN share_units < left_units THEN share_units ELSE left_units END
        AS over_units
FROM served
WHERE share_units > 0
