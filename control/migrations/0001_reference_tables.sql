-- The control file: one STRICT table per reference table of the schema (same names, same columns), a version for
-- each, and an append-only log of every edit. Instants are epoch milliseconds, intervals are [from_ms, to_ms).

-- "GPUL": tells this file from any other SQLite database.
PRAGMA application_id = 1196447052;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

-- Goes up by one with every import that changes the table; a table that never changed has no row (version 0).
CREATE TABLE table_version (
    table_name TEXT PRIMARY KEY,
    version    INTEGER NOT NULL CHECK (version > 0)
) STRICT;

-- Who changed what, when, from which file. `before` is NULL for an added row; rows are JSON objects.
CREATE TABLE edit (
    edit_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms      INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    file       TEXT NOT NULL,
    table_name TEXT NOT NULL,
    version    INTEGER NOT NULL,
    before     TEXT,
    after      TEXT NOT NULL
) STRICT;

CREATE TRIGGER edit_is_not_updated BEFORE UPDATE ON edit
BEGIN SELECT RAISE(ABORT, 'the edit log is append-only'); END;

CREATE TRIGGER edit_is_not_deleted BEFORE DELETE ON edit
BEGIN SELECT RAISE(ABORT, 'the edit log is append-only'); END;

CREATE TABLE inventory (
    cluster      TEXT NOT NULL,
    node         TEXT,
    model        TEXT NOT NULL,
    gpus         INTEGER NOT NULL CHECK (gpus > 0),
    memory_bytes INTEGER,
    queue        TEXT,
    interconnect TEXT,
    declared_up  INTEGER NOT NULL CHECK (declared_up IN (0, 1)),
    from_ms      INTEGER NOT NULL,
    to_ms        INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE pool (
    pool         TEXT NOT NULL,
    cluster      TEXT,
    node_pattern TEXT,
    node_regex   TEXT,
    queue        TEXT,
    model        TEXT,
    from_ms      INTEGER NOT NULL,
    to_ms        INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE tier (
    tier             TEXT NOT NULL,
    model_pattern    TEXT,
    model_regex      TEXT,
    memory_min_bytes INTEGER,
    memory_max_bytes INTEGER,
    interconnect     TEXT,
    from_ms          INTEGER NOT NULL,
    to_ms            INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE task_type_rule (
    position      INTEGER NOT NULL,
    cluster       TEXT,
    queue         TEXT,
    qos           TEXT,
    account       TEXT,
    label         TEXT,
    workload_kind TEXT,
    name_pattern  TEXT,
    name_regex    TEXT,
    task_type     TEXT NOT NULL,
    from_ms       INTEGER NOT NULL,
    to_ms         INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE task_weight (
    task_type  TEXT NOT NULL,
    sm_ppm     INTEGER NOT NULL CHECK (sm_ppm >= 0),
    dram_ppm   INTEGER NOT NULL CHECK (dram_ppm >= 0),
    tensor_ppm INTEGER NOT NULL CHECK (tensor_ppm >= 0),
    from_ms    INTEGER NOT NULL,
    to_ms      INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE rate (
    rate_id      INTEGER NOT NULL UNIQUE,
    team         TEXT,
    task_type    TEXT,
    pool         TEXT,
    model        TEXT,
    tier         TEXT,
    price_micros INTEGER NOT NULL CHECK (price_micros BETWEEN 0 AND 1000000000000),
    currency     TEXT NOT NULL,
    from_ms      INTEGER NOT NULL,
    to_ms        INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE owner (
    kind        TEXT NOT NULL,
    cluster     TEXT,
    value       TEXT NOT NULL,
    team        TEXT NOT NULL,
    cost_center TEXT,
    parts       INTEGER NOT NULL CHECK (parts BETWEEN 1 AND 10000),
    from_ms     INTEGER NOT NULL,
    to_ms       INTEGER CHECK (to_ms > from_ms)
) STRICT;

CREATE TABLE quota (
    team           TEXT NOT NULL,
    pool           TEXT NOT NULL,
    gpus           INTEGER CHECK (gpus >= 0),
    pool_share_ppm INTEGER CHECK (pool_share_ppm BETWEEN 0 AND 1000000),
    from_ms        INTEGER NOT NULL,
    to_ms          INTEGER CHECK (to_ms > from_ms),
    CHECK ((gpus IS NULL) <> (pool_share_ppm IS NULL))
) STRICT;
