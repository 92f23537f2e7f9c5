-- Which policy is in force: every import of one, the newest counts. The texts themselves are kept once, in `reclaim_policy`.

CREATE TABLE reclaim_policy_use (
    use_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms  INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    file   TEXT NOT NULL,
    hash   TEXT NOT NULL REFERENCES reclaim_policy (hash)
) STRICT;

CREATE TRIGGER reclaim_policy_use_is_not_updated BEFORE UPDATE ON reclaim_policy_use
BEGIN SELECT RAISE(ABORT, 'the log of policies is append-only'); END;

CREATE TRIGGER reclaim_policy_use_is_not_deleted BEFORE DELETE ON reclaim_policy_use
BEGIN SELECT RAISE(ABORT, 'the log of policies is append-only'); END;
