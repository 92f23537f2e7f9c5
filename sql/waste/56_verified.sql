-- What a finding that was marked done has saved: idle time and held time of the same owner and name (cluster, account, user, job
-- name) in as many whole local days after the day of the mark as before it, at most 28, that day itself in neither. A day before
-- counts if anything of the fleet is known of it, so that a short history is not compared with nothing.
-- Saved is what idle time fell by, for rules that claim idle time; it is negative where it grew, and NULL where no day has passed
-- since, or where under 90 % of the held time of a side was measured. gap_known: the rule finds a gap, and could have found it on
-- both sides: from accounting alone, else where as much was measured; then 59 says what the gap fell by, in the two windows given here.
-- The subject names the run that was marked; runs of the same owner and name are its successors.
-- grain: note. units: days, ms, epoch ms, exact money
-- inputs: finding_note, run, fact, calendar
-- parameters: as_of_ms BIGINT
-- output: verified
WITH owner_of AS (
    SELECT d.rule, d.subject, d.from_ms, max(r.cluster) AS cluster, max(r.account) AS account, max(r."user") AS "user",
        max(CASE WHEN d.rule = 'resident_service' THEN coalesce(r.workload_name, r.name) ELSE r.name END) AS name, max(d.by) AS by,
        max(d.reason) AS reason
    FROM finding_note d
    JOIN run r ON d.subject = r.cluster || '/' || CASE WHEN d.rule = 'resident_service'
        THEN coalesce(r.account, '-') || '/' || coalesce(r.workload_name, r.name, '-') ELSE coalesce(r.job_raw, '-') END
    WHERE d.state = 'done' AND d.to_ms IS NULL
    GROUP BY d.rule, d.subject, d.from_ms
),
known_day AS (
    SELECT DISTINCT day FROM fact
),
day_at AS (
    SELECT c.day, min(c.cell) * 900000 AS from_ms, (max(c.cell) + 1) * 900000 AS to_ms, k.day IS NOT NULL AS known
    FROM calendar c
    LEFT JOIN known_day k ON k.day = c.day
    GROUP BY c.day, k.day
    HAVING count(*) * 900000 = max(c.day_ms) AND (max(c.cell) + 1) * 900000 <= CAST($as_of_ms AS BIGINT)
),
placed AS (
    SELECT o.rule, o.subject, o.from_ms AS done_ms, a.day, a.from_ms, a.to_ms, a.to_ms <= o.from_ms AS before,
        row_number() OVER (PARTITION BY o.rule, o.subject, a.to_ms <= o.from_ms
            ORDER BY CASE WHEN a.to_ms <= o.from_ms THEN -a.from_ms ELSE a.from_ms END) AS place
    FROM owner_of o
    JOIN day_at a ON (a.to_ms <= o.from_ms AND a.known) OR a.from_ms > o.from_ms
),
counted AS (
    SELECT rule, subject, count(CASE WHEN before THEN 1 END) AS before_days, count(CASE WHEN NOT before THEN 1 END) AS after_days
    FROM placed
    GROUP BY rule, subject
),
compared AS (
    SELECT o.rule, o.subject, coalesce(CASE WHEN c.before_days < c.after_days THEN c.before_days ELSE c.after_days END, 0) AS days
    FROM owner_of o
    LEFT JOIN counted c ON c.rule = o.rule AND c.subject = o.subject
),
side AS (
    SELECT p.rule, p.subject, p.day, p.before, p.from_ms, p.to_ms
    FROM placed p
    JOIN compared c ON c.rule = p.rule AND c.subject = p.subject AND p.place <= c.days AND p.place <= 28
),
bound AS (
    SELECT rule, subject, min(CASE WHEN before THEN from_ms END) AS before_from_ms, max(CASE WHEN before THEN to_ms END) AS before_to_ms,
        min(CASE WHEN NOT before THEN from_ms END) AS after_from_ms, max(CASE WHEN NOT before THEN to_ms END) AS after_to_ms
    FROM side
    GROUP BY rule, subject
),
summed AS (
    SELECT s.rule, s.subject,
        sum(CASE WHEN s.before THEN f.held_ms ELSE 0 END) AS held_before_ms,
        sum(CASE WHEN s.before THEN 0 ELSE f.held_ms END) AS held_after_ms,
        sum(CASE WHEN s.before THEN f.covered_ms ELSE 0 END) AS covered_before_ms,
        sum(CASE WHEN s.before THEN 0 ELSE f.covered_ms END) AS covered_after_ms, sum(f.judged_ms) AS judged_ms,
        sum(CASE WHEN s.before THEN f.held_idle_ms ELSE 0 END) AS idle_before_ms,
        sum(CASE WHEN s.before THEN 0 ELSE f.held_idle_ms END) AS idle_after_ms,
        sum(CASE WHEN s.before THEN f.waste_cost ELSE -f.waste_cost END) AS saved_cost
    FROM side s
    JOIN owner_of o ON o.rule = s.rule AND o.subject = s.subject
    JOIN run r ON r.cluster = o.cluster AND coalesce(r.account, '') = coalesce(o.account, '')
        AND coalesce(r."user", '') = coalesce(o."user", '') AND coalesce(r.workload_name, r.name, '') = coalesce(o.name, '')
    JOIN fact f ON f.holder = r.holder AND f.day = s.day
    GROUP BY s.rule, s.subject
),
judged AS (
    -- a side on which nothing was held needs no measurement
    SELECT o.*, CASE WHEN c.days < 28 THEN c.days ELSE 28 END AS days, coalesce(s.held_before_ms, 0) AS held_before_ms,
        coalesce(s.held_after_ms, 0) AS held_after_ms, coalesce(s.idle_before_ms, 0) AS idle_before_ms,
        coalesce(s.idle_after_ms, 0) AS idle_after_ms, s.saved_cost, s.judged_ms,
        coalesce(s.covered_before_ms * 10 >= s.held_before_ms * 9 AND s.covered_after_ms * 10 >= s.held_after_ms * 9, true) AS measured,
        coalesce(s.covered_before_ms + s.covered_after_ms, 0) AS covered_ms,
        o.rule IN ('never_touched', 'idle_since', 'partly_used', 'low_use', 'sm_low_week', 'input_bound', 'resident_service',
            'slow_start', 'debug_left', 'token_load') AS claims
    FROM owner_of o
    JOIN compared c ON c.rule = o.rule AND c.subject = o.subject
    LEFT JOIN summed s ON s.rule = o.rule AND s.subject = o.subject
)
SELECT j.rule, j.subject, j.from_ms AS done_ms, CAST(j.days AS BIGINT) AS days, j.cluster, j.account, j."user", j.name, j.by, j.reason,
    CAST(j.held_before_ms AS BIGINT) AS held_before_ms, CAST(j.held_after_ms AS BIGINT) AS held_after_ms,
    CASE WHEN j.measured THEN CAST(j.idle_before_ms AS BIGINT) END AS idle_before_ms,
    CASE WHEN j.measured THEN CAST(j.idle_after_ms AS BIGINT) END AS idle_after_ms,
    CASE WHEN j.days > 0 AND j.measured AND j.claims THEN CAST(j.idle_before_ms - j.idle_after_ms AS BIGINT) END AS saved_ms,
    CASE WHEN j.days > 0 AND j.measured AND j.claims THEN CAST(j.saved_cost AS DECIMAL(38, 0)) END AS saved_cost,
    j.days > 0 AND CASE WHEN j.rule IN ('limit_over_run', 'failed_runs', 'over_duration') THEN true
        WHEN j.rule IN ('hung', 'memory_asked', 'card_too_large') THEN j.measured
        WHEN j.rule = 'low_use' THEN j.covered_ms = 0 AND j.judged_ms * 10 >= (j.held_before_ms + j.held_after_ms) * 9
        ELSE false END AS gap_known,
    b.before_from_ms, b.before_to_ms, b.after_from_ms, b.after_to_ms
FROM judged j
LEFT JOIN bound b ON b.rule = j.rule AND b.subject = j.subject
