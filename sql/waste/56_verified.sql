-- What a finding that was marked done has saved: idle time and held time of the same owner and name (cluster, account, user, job
-- name) in as many local days after the day of the mark as before it, at most 28, that day itself in neither. Saved is what idle
-- time fell by; it is negative where it grew, and NULL where no day has passed since.
-- The subject names the run that was marked; runs of the same owner and name are its successors.
-- grain: note. units: days, ms, exact money
-- inputs: finding_note, run, fact, calendar
-- parameters: as_of_ms BIGINT
-- output: verified
WITH done AS (
    SELECT n.rule, n.subject, n.by, n.reason, n.from_ms,
        CASE WHEN (CAST($as_of_ms AS BIGINT) - n.from_ms) / 86400000 < 28 THEN (CAST($as_of_ms AS BIGINT) - n.from_ms) / 86400000
            ELSE 28 END AS days
    FROM finding_note n
    WHERE n.state = 'done' AND n.to_ms IS NULL
),
owner_of AS (
    SELECT d.rule, d.subject, d.from_ms, d.days, max(r.cluster) AS cluster, max(r.account) AS account, max(r."user") AS "user",
        max(CASE WHEN d.rule = 'resident_service' THEN coalesce(r.workload_name, r.name) ELSE r.name END) AS name, max(d.by) AS by,
        max(d.reason) AS reason
    FROM done d
    JOIN run r ON d.subject = r.cluster || '/' || CASE WHEN d.rule = 'resident_service'
        THEN coalesce(r.account, '-') || '/' || coalesce(r.workload_name, r.name, '-') ELSE coalesce(r.job_raw, '-') END
    GROUP BY d.rule, d.subject, d.from_ms, d.days
),
day_at AS (
    SELECT day, min(hour_start_ms) AS from_ms, max(hour_start_ms) + 3600000 AS to_ms FROM calendar GROUP BY day
),
placed AS (
    SELECT o.*, f.held_ms, f.held_idle_ms, f.waste_cost, f.currency,
        CASE WHEN a.to_ms <= o.from_ms AND a.from_ms >= o.from_ms - (o.days + 1) * 86400000 THEN 'before'
            WHEN a.from_ms > o.from_ms AND a.to_ms <= o.from_ms + (o.days + 1) * 86400000 THEN 'after' END AS side
    FROM owner_of o
    JOIN run r ON r.cluster = o.cluster AND coalesce(r.account, '') = coalesce(o.account, '')
        AND coalesce(r."user", '') = coalesce(o."user", '') AND coalesce(r.workload_name, r.name, '') = coalesce(o.name, '')
    JOIN fact f ON f.holder = r.holder
    JOIN day_at a ON a.day = f.day
)
SELECT rule, subject, from_ms AS done_ms, days, max("user") AS "user", max(name) AS name, max(by) AS by, max(reason) AS reason,
    CAST(coalesce(sum(CASE WHEN side = 'before' THEN held_ms END), 0) AS BIGINT) AS held_before_ms,
    CAST(coalesce(sum(CASE WHEN side = 'after' THEN held_ms END), 0) AS BIGINT) AS held_after_ms,
    CAST(coalesce(sum(CASE WHEN side = 'before' THEN held_idle_ms END), 0) AS BIGINT) AS idle_before_ms,
    CAST(coalesce(sum(CASE WHEN side = 'after' THEN held_idle_ms END), 0) AS BIGINT) AS idle_after_ms,
    CASE WHEN days > 0 THEN CAST(coalesce(sum(CASE side WHEN 'before' THEN held_idle_ms WHEN 'after' THEN -held_idle_ms END), 0)
        AS BIGINT) END AS saved_ms,
    CASE WHEN days > 0 THEN CAST(coalesce(sum(CASE side WHEN 'before' THEN waste_cost WHEN 'after' THEN -waste_cost END), 0)
        AS DECIMAL(38, 0)) END AS saved_cost
FROM placed
GROUP BY rule, subject, from_ms, days
