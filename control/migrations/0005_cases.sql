-- Reclaiming: cases and what happened to them, who leads, what is switched, policies and plans as they were.
-- Events, switches, policies and plans are never changed or deleted: what was done stays readable.

CREATE TABLE reclaim_case (
    case_id       INTEGER PRIMARY KEY,
    allocation_id INTEGER NOT NULL,
    class         TEXT NOT NULL,
    opened_ms     INTEGER NOT NULL,
    policy        TEXT NOT NULL,
    facts         TEXT NOT NULL,
    -- of the newest event
    seq           INTEGER NOT NULL CHECK (seq > 0),
    state         TEXT NOT NULL
) STRICT;

-- An allocation has one case at a time.
CREATE UNIQUE INDEX reclaim_case_open ON reclaim_case (allocation_id) WHERE state NOT IN ('freed', 'active_again');

CREATE TABLE case_event (
    case_id      INTEGER NOT NULL REFERENCES reclaim_case (case_id),
    seq          INTEGER NOT NULL CHECK (seq > 0),
    at_ms        INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    deadline_ms  INTEGER,
    rest_from_ms INTEGER,
    until_ms     INTEGER,
    phase        TEXT,
    reason       TEXT,
    proof        TEXT,
    PRIMARY KEY (case_id, seq)
) STRICT;

CREATE TRIGGER case_event_is_not_updated BEFORE UPDATE ON case_event
BEGIN SELECT RAISE(ABORT, 'events of cases are append-only'); END;

CREATE TRIGGER case_event_is_not_deleted BEFORE DELETE ON case_event
BEGIN SELECT RAISE(ABORT, 'events of cases are append-only'); END;

-- One server leads. `fence` goes up whenever another begins to lead, and what carries an older one is refused.
CREATE TABLE reclaim_lease (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    fence    INTEGER NOT NULL CHECK (fence > 0),
    until_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE reclaim_switch (
    switch_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms     INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    name      TEXT NOT NULL CHECK (name IN ('notify', 'act', 'kill', 'breaker')),
    is_on     INTEGER NOT NULL CHECK (is_on IN (0, 1)),
    reason    TEXT NOT NULL
) STRICT;

CREATE TRIGGER reclaim_switch_is_not_updated BEFORE UPDATE ON reclaim_switch
BEGIN SELECT RAISE(ABORT, 'the log of switches is append-only'); END;

CREATE TRIGGER reclaim_switch_is_not_deleted BEFORE DELETE ON reclaim_switch
BEGIN SELECT RAISE(ABORT, 'the log of switches is append-only'); END;

CREATE TABLE reclaim_policy (
    hash  TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    text  TEXT NOT NULL
) STRICT;

CREATE TABLE reclaim_plan (
    hash    TEXT PRIMARY KEY,
    made_ms INTEGER NOT NULL,
    body    TEXT NOT NULL
) STRICT;

-- When people were last told of something, so that they are told once.
CREATE TABLE reclaim_alert (
    name    TEXT PRIMARY KEY,
    text    TEXT NOT NULL,
    told_ms INTEGER NOT NULL
) STRICT;
