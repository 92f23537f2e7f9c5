-- What findings go by: numbers of the rules, what runs should ask for, and what people say of findings.

CREATE TABLE threshold (
    rule      TEXT NOT NULL,
    name      TEXT NOT NULL,
    value_e4  INTEGER NOT NULL CHECK (value_e4 >= 0),
    unit      TEXT NOT NULL,
    task_type TEXT,
    queue     TEXT,
    team      TEXT,
    from_ms   INTEGER NOT NULL,
    to_ms     INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE spec (
    task_type     TEXT NOT NULL,
    team          TEXT,
    tier          TEXT,
    gpu_mem_bytes INTEGER,
    share_ppm     INTEGER CHECK (share_ppm BETWEEN 0 AND 1000000),
    gpus          INTEGER,
    max_hours     INTEGER,
    from_ms       INTEGER NOT NULL,
    to_ms         INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE finding_note (
    rule    TEXT NOT NULL,
    subject TEXT NOT NULL,
    state   TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'done', 'dismissed')),
    reason  TEXT,
    by      TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER CHECK (to_ms > from_ms)
) STRICT;
