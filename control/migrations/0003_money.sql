-- Money beside rates and owners; the state of periods, what is waived and what leads answered; and one log of every
-- change, each entry chained to the one before it. The edits of the older log are copied into it (see open.rs).

CREATE TABLE terms (
    pool              TEXT NOT NULL,
    mode              TEXT NOT NULL CHECK (mode IN ('held', 'busy', 'quota', 'showback')),
    share_unallocated TEXT NOT NULL CHECK (share_unallocated IN ('none', 'even', 'held', 'quota')),
    share_unavailable TEXT NOT NULL CHECK (share_unavailable IN ('none', 'even', 'held', 'quota')),
    share_unobserved  TEXT NOT NULL CHECK (share_unobserved IN ('none', 'even', 'held', 'quota')),
    from_ms           INTEGER NOT NULL,
    to_ms             INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE discount (
    discount_id INTEGER NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('off_peak', 'borrowed', 'preemptible', 'discount')),
    team        TEXT,
    task_type   TEXT,
    pool        TEXT,
    model       TEXT,
    tier        TEXT,
    days        TEXT,
    day_mask    INTEGER NOT NULL CHECK (day_mask BETWEEN 1 AND 127),
    from_minute INTEGER NOT NULL CHECK (from_minute BETWEEN 0 AND 1425 AND from_minute % 15 = 0),
    to_minute   INTEGER NOT NULL CHECK (to_minute BETWEEN 15 AND 1440 AND to_minute % 15 = 0),
    factor_e4   INTEGER NOT NULL CHECK (factor_e4 BETWEEN 0 AND 100000),
    from_ms     INTEGER NOT NULL,
    to_ms       INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE cost_pool (
    pool          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('depreciation', 'power', 'operations', 'other')),
    amount_micros INTEGER NOT NULL CHECK (amount_micros BETWEEN 0 AND 1000000000000000000),
    currency      TEXT NOT NULL,
    from_ms       INTEGER NOT NULL,
    to_ms         INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE energy_price (
    pool       TEXT,
    kwh_micros INTEGER NOT NULL CHECK (kwh_micros BETWEEN 0 AND 1000000000000),
    currency   TEXT NOT NULL,
    from_ms    INTEGER NOT NULL,
    to_ms      INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE budget (
    team          TEXT NOT NULL,
    amount_micros INTEGER CHECK (amount_micros BETWEEN 1 AND 1000000000000000000),
    gpu_hours     INTEGER CHECK (gpu_hours > 0),
    alert_at      TEXT NOT NULL,
    currency      TEXT NOT NULL,
    from_ms       INTEGER NOT NULL,
    to_ms         INTEGER CHECK (to_ms > from_ms),
    CHECK (amount_micros IS NOT NULL OR gpu_hours IS NOT NULL)
) STRICT;

CREATE TABLE cost_center (
    code    TEXT NOT NULL,
    name    TEXT NOT NULL,
    parent  TEXT,
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE manual_line (
    line          TEXT NOT NULL UNIQUE,
    period        TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('credit', 'adjustment')),
    team          TEXT NOT NULL,
    cost_center   TEXT,
    amount_micros INTEGER NOT NULL CHECK (amount_micros BETWEEN -1000000000000000000 AND 1000000000000000000),
    currency      TEXT NOT NULL,
    reason        TEXT NOT NULL,
    approver      TEXT NOT NULL,
    from_ms       INTEGER NOT NULL,
    to_ms         INTEGER CHECK (to_ms > from_ms)
) STRICT;

-- State of a billing month. A month that is not here is open. What is closed is said by the manifest of its close;
-- this is what imports go by.
CREATE TABLE period (
    period    TEXT PRIMARY KEY NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('open', 'collecting', 'closed')),
    zone      TEXT NOT NULL,
    from_ms   INTEGER NOT NULL,
    to_ms     INTEGER NOT NULL CHECK (to_ms > from_ms),
    close_id  TEXT,
    closed_ms INTEGER,
    CHECK ((state = 'closed') = (close_id IS NOT NULL)),
    CHECK ((state = 'closed') = (closed_ms IS NOT NULL))
) STRICT;

-- What a period is closed in spite of. Rows are added only: the newest of an item counts.
CREATE TABLE waiver (
    waiver_id INTEGER PRIMARY KEY AUTOINCREMENT,
    period    TEXT NOT NULL,
    item      TEXT NOT NULL,
    waived    INTEGER NOT NULL CHECK (waived IN (0, 1)),
    reason    TEXT NOT NULL,
    approver  TEXT NOT NULL,
    actor     TEXT NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT;

-- What a lead said of a line of a draft. Rows are added only: the newest of a line counts.
CREATE TABLE line_answer (
    answer_id INTEGER PRIMARY KEY AUTOINCREMENT,
    period    TEXT NOT NULL,
    line_id   INTEGER NOT NULL,
    answer    TEXT NOT NULL CHECK (answer IN ('accepted', 'disputed')),
    reason    TEXT,
    by        TEXT NOT NULL,
    at_ms     INTEGER NOT NULL
) STRICT;

CREATE TRIGGER waiver_is_not_updated BEFORE UPDATE ON waiver
BEGIN SELECT RAISE(ABORT, 'waivers are added, never changed'); END;
CREATE TRIGGER waiver_is_not_deleted BEFORE DELETE ON waiver
BEGIN SELECT RAISE(ABORT, 'waivers are added, never changed'); END;
CREATE TRIGGER line_answer_is_not_updated BEFORE UPDATE ON line_answer
BEGIN SELECT RAISE(ABORT, 'answers are added, never changed'); END;
CREATE TRIGGER line_answer_is_not_deleted BEFORE DELETE ON line_answer
BEGIN SELECT RAISE(ABORT, 'answers are added, never changed'); END;

-- Everything that was changed: who, when, what, from what to what, why. `hash` is the SHA-256 of the entry's text form
-- (see audit.rs), which holds the hash of the entry before it.
CREATE TABLE audit (
    seq        INTEGER PRIMARY KEY CHECK (seq > 0),
    at_ms      INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    action     TEXT NOT NULL,
    table_name TEXT NOT NULL,
    subject    TEXT NOT NULL,
    version    INTEGER,
    source     TEXT,
    before     TEXT,
    after      TEXT,
    reason     TEXT,
    approver   TEXT,
    previous   TEXT NOT NULL,
    hash       TEXT NOT NULL
) STRICT;

CREATE INDEX audit_of_table ON audit (table_name, seq);
