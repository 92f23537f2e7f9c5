-- Who may ask the server: tokens by the hash of their secret. The secret itself is shown once and kept nowhere.
-- Instants are epoch milliseconds.

CREATE TABLE token (
    token_id    TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('admin', 'finance', 'lead', 'member', 'operator', 'node', 'metrics')),
    -- JSON array of the teams of a lead
    teams       TEXT NOT NULL,
    user_name   TEXT,
    node        TEXT,
    sha256      TEXT NOT NULL UNIQUE,
    created_ms  INTEGER NOT NULL,
    created_by  TEXT NOT NULL,
    expires_ms  INTEGER NOT NULL CHECK (expires_ms > created_ms),
    revoked_ms  INTEGER,
    revoked_by  TEXT,
    -- the token that this one takes the place of
    rotates     TEXT REFERENCES token (token_id),
    CHECK ((role = 'lead') = (teams <> '[]')),
    CHECK ((role = 'member') = (user_name IS NOT NULL)),
    CHECK ((role = 'node') = (node IS NOT NULL)),
    CHECK ((revoked_ms IS NULL) = (revoked_by IS NULL))
) STRICT;

-- Random bytes of this place by name, as hexadecimal digits; made once.
CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    hex  TEXT NOT NULL
) STRICT;
