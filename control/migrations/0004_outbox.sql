-- Who is told what, and whether it arrived: contacts, messages with their deliveries, silences, alerts that stand.
-- Instants are epoch milliseconds, intervals are [from_ms, to_ms).

CREATE TABLE contact (
    kind     TEXT NOT NULL CHECK (kind IN ('user', 'lead', 'role')),
    name     TEXT NOT NULL,
    channel  TEXT NOT NULL CHECK (channel IN ('mail', 'webhook')),
    address  TEXT NOT NULL,
    language TEXT NOT NULL CHECK (language IN ('en', 'zh')),
    calendar TEXT,
    from_ms  INTEGER NOT NULL,
    to_ms    INTEGER CHECK (to_ms > from_ms)
) STRICT;

-- One message to one address. It is written by the transaction that writes what it tells of, and leaves the states in
-- which something can still happen (waiting, claimed, sending) exactly once.
CREATE TABLE outbox_message (
    message_id       INTEGER PRIMARY KEY AUTOINCREMENT,
    key              TEXT NOT NULL UNIQUE,
    kind             TEXT NOT NULL,
    subject          TEXT NOT NULL,
    cause            TEXT,
    person           TEXT NOT NULL,
    channel          TEXT NOT NULL CHECK (channel IN ('mail', 'webhook')),
    address          TEXT NOT NULL,
    language         TEXT NOT NULL,
    calendar         TEXT,
    urgent           INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    title            TEXT NOT NULL,
    body_text        TEXT NOT NULL,
    body_html        TEXT,
    link             TEXT,
    created_ms       INTEGER NOT NULL,
    give_up_after_ms INTEGER NOT NULL CHECK (give_up_after_ms > 0),
    state            TEXT NOT NULL CHECK (state IN
        ('waiting', 'claimed', 'sending', 'delivered', 'bounced', 'failed', 'silenced', 'cooled')),
    -- when it may be tried next
    due_ms           INTEGER NOT NULL,
    -- set by the first try: a calendar that defers it takes nothing of its time
    give_up_ms       INTEGER,
    tries            INTEGER NOT NULL DEFAULT 0,
    -- how often a try ended without anybody knowing how
    doubts           INTEGER NOT NULL DEFAULT 0,
    -- who may send it, until when: both present while it is claimed or sending
    lease_owner      TEXT,
    lease_until_ms   INTEGER,
    answer           TEXT,
    CHECK ((lease_owner IS NULL) = (lease_until_ms IS NULL)),
    CHECK ((lease_owner IS NOT NULL) = (state IN ('claimed', 'sending')))
) STRICT;

CREATE INDEX outbox_message_due ON outbox_message (channel, due_ms) WHERE state IN ('waiting', 'claimed', 'sending');
CREATE INDEX outbox_message_about ON outbox_message (kind, subject, channel, address, created_ms);

-- Bytes of attachments, once however many people get them.
CREATE TABLE outbox_blob (
    sha256 TEXT PRIMARY KEY,
    bytes  BLOB NOT NULL
) STRICT;

CREATE TABLE outbox_attachment (
    message_id INTEGER NOT NULL REFERENCES outbox_message (message_id),
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES outbox_blob (sha256),
    PRIMARY KEY (message_id, position)
) STRICT;

-- What happened to a message, append-only: whoever caused it reads on from the last event it saw.
CREATE TABLE outbox_event (
    event_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES outbox_message (message_id),
    at_ms      INTEGER NOT NULL,
    what       TEXT NOT NULL CHECK (what IN
        ('posted', 'tried', 'deferred', 'doubt', 'delivered', 'bounced', 'failed', 'silenced', 'cooled')),
    answer     TEXT
) STRICT;

CREATE TRIGGER outbox_event_is_not_updated BEFORE UPDATE ON outbox_event
BEGIN SELECT RAISE(ABORT, 'events of messages are append-only'); END;

CREATE TRIGGER outbox_event_is_not_deleted BEFORE DELETE ON outbox_event
BEGIN SELECT RAISE(ABORT, 'events of messages are append-only'); END;

-- Who wants to hear nothing of what, until when. A pattern has `*` and `?`; absent is any.
CREATE TABLE silence (
    silence_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT,
    subject    TEXT,
    person     TEXT,
    from_ms    INTEGER NOT NULL,
    until_ms   INTEGER NOT NULL CHECK (until_ms > from_ms),
    by         TEXT NOT NULL,
    reason     TEXT NOT NULL,
    ended_ms   INTEGER,
    ended_by   TEXT,
    CHECK ((ended_ms IS NULL) = (ended_by IS NULL))
) STRICT;

-- What is wrong at the moment, as an alert manager is told again and again until it ends.
CREATE TABLE alert (
    alert_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL,
    subject     TEXT NOT NULL,
    labels      TEXT NOT NULL,
    annotations TEXT NOT NULL,
    started_ms  INTEGER NOT NULL,
    seen_ms     INTEGER NOT NULL,
    ended_ms    INTEGER CHECK (ended_ms >= started_ms),
    -- when an alert manager last took it, and when it took its end
    told_ms     INTEGER,
    told_end_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX alert_stands_once ON alert (kind, subject) WHERE ended_ms IS NULL;
